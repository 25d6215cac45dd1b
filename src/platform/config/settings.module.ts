import { DynamicModule, Module } from '@nestjs/common';
import type { AreaClass, SettingsOf } from './settings';

/** Makes the settings injectable everywhere, by the class of each area. */
@Module({})
export class SettingsModule {
  static register<Areas extends readonly AreaClass[]>(
    areas: Areas,
    settings: SettingsOf<Areas>,
  ): DynamicModule {
    return {
      module: SettingsModule,
      global: true,
      providers: areas.map((area) => ({ provide: area, useValue: settings })),
      exports: [...areas],
    };
  }
}
