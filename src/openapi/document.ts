import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** The OpenAPI document, made from the DTOs that validate requests and describe responses. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Pooled savings service')
    .setDescription(
      'Sign in with an Ethereum wallet (EIP-4361), create and inspect savings pools, read transactions, yield and ' +
        'analytics, and follow the lottery. Every path works with and without a leading /api. Amounts are decimal ' +
        'strings in the smallest token unit.',
    )
    .setVersion('1.0')
    .addBearerAuth()
    .build();
  return SwaggerModule.createDocument(app, config, {
    operationIdFactory: (controller, method) =>
      `${controller.replace('Controller', '').toLowerCase()}_${method}`,
  });
}
