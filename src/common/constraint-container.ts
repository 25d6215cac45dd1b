import type { INestApplication } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { useContainer } from 'class-validator';

type Class<T> = new (...args: never[]) => T;

/** Of the applications of this process, the newest last; tests have several. */
const applications: ModuleRef[] = [];

/**
 * Lets constraints of class-validator be providers, with what is injected into them. Those that are none are made by
 * class-validator. @returns what to call when the application closes
 */
export function provideConstraints(app: INestApplication): () => void {
  const providers = app.get(ModuleRef);
  applications.push(providers);
  useContainer(
    {
      get: <T>(type: Class<T> | { name: string }): T =>
        applications[applications.length - 1].get(type as Class<T>, { strict: false }),
    },
    { fallbackOnErrors: true },
  );
  return () => void applications.splice(applications.indexOf(providers), 1);
}
