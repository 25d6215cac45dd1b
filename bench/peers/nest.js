// A bare Nest application on Fastify: one module, one controller.
require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');

class HealthController {
  live() {
    return { status: 'alive' };
  }
}
const { prototype } = HealthController;
Get('live')(prototype, 'live', Object.getOwnPropertyDescriptor(prototype, 'live'));
Controller('health')(HealthController);

class AppModule {}
Module({ controllers: [HealthController] })(AppModule);

NestFactory.create(AppModule, new FastifyAdapter(), { logger: false }).then((app) =>
  app.listen(process.env.PORT, '127.0.0.1'),
);
