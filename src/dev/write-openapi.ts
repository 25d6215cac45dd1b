import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { writeFileSync } from 'node:fs';
import { defaultEnvironment } from '#settings/environment';
import { AppModule } from '#api/app.module';
import { createDocument } from '#api/documents/document';

/** Makes the document without a running service. In preview mode Nest instantiates nothing, so nothing connects. */
export async function describeApi(): Promise<OpenAPIObject> {
  const app = await NestFactory.create(AppModule.register(defaultEnvironment()), new FastifyAdapter(), {
    preview: true,
    logger: false,
  });
  return createDocument(app);
}

/** The document's text as it is committed. */
export const formatDocument = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

if (require.main === module)
  void describeApi().then((document) => writeFileSync('openapi.json', formatDocument(document)));
