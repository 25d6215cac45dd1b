import type { INestApplication } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { useContainer } from 'class-validator';

type Class = abstract new (...args: never[]) => unknown;

/**
 * The constraints of one application that are providers. Results are remembered, because class-validator asks for
 * each rule of each request, and finding out that a class is not a provider costs an exception.
 */
class Constraints {
  private readonly found = new Map<Class, unknown>();

  constructor(private readonly providers: ModuleRef) {}

  get(type: Class): unknown {
    if (!this.found.has(type)) this.found.set(type, this.find(type));
    return this.found.get(type);
  }

  private find(type: Class): unknown {
    try {
      return this.providers.get<unknown>(type, { strict: false });
    } catch {
      return undefined;
    }
  }
}

/** One for each application of this process, newest last. Tests have several. */
const applications: Constraints[] = [];

/**
 * Lets class-validator constraints be providers with injected dependencies. class-validator creates all others
 * itself.
 * @returns a function to call when the application closes
 */
export function provideConstraints(app: INestApplication): () => void {
  const constraints = new Constraints(app.get(ModuleRef));
  applications.push(constraints);
  useContainer(
    {
      get: <T>(type: (new (...args: never[]) => T) | { name: string }): T =>
        applications.at(-1)?.get(type as Class) as T,
    },
    { fallback: true },
  );
  return () => void applications.splice(applications.indexOf(constraints), 1);
}
