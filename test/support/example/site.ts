import { Module } from '@nestjs/common';
import { ServeStaticModule } from '@nestjs/serve-static';
import { join } from 'node:path';

/**
 * `@nestjs/serve-static`: a folder beside the API. It needs a `serveRoot`, because without one its page takes every
 * unknown path; below `serveRoot` it does so for `fallthrough: true`.
 */
@Module({
  imports: [
    ServeStaticModule.forRoot({
      rootPath: join(__dirname, 'site'),
      serveRoot: '/example/site',
      serveStaticOptions: { fallthrough: true },
    }),
  ],
})
export class SiteModule {}
