import { Module } from '@nestjs/common';
import { ServeStaticModule } from '@nestjs/serve-static';
import { join } from 'node:path';

/**
 * `@nestjs/serve-static`: a folder beside the API. It needs a `serveRoot`, because without one its page takes every
 * unknown path; below `serveRoot` it does so for `fallthrough: true`. `decorateReply: false`, because the page at /docs
 * has added `sendFile` already.
 */
@Module({
  imports: [
    ServeStaticModule.forRoot({
      rootPath: join(__dirname, 'site'),
      serveRoot: '/example/site',
      serveStaticOptions: { decorateReply: false, fallthrough: true },
    }),
  ],
})
export class SiteModule {}
