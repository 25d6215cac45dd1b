import type { INestApplication } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { useContainer } from 'class-validator';

type Find = (type: unknown) => unknown;

/** One for each application of this process, newest last. Tests have several. */
const applications: Find[] = [];

/**
 * Lets class-validator constraints be providers with injected dependencies. class-validator creates all others
 * itself.
 * @returns a function to call when the application closes
 */
export function provideConstraints(app: INestApplication): () => void {
  const find = finderIn(app.get(ModuleRef));
  applications.push(find);
  useContainer({ get: (type: unknown) => applications.at(-1)?.(type) as never }, { fallback: true });
  return () => void applications.splice(applications.indexOf(find), 1);
}

/** Remembers, because class-validator asks at each request, and not finding a provider costs an exception. */
function finderIn(providers: ModuleRef): Find {
  const found = new Map<unknown, unknown>();
  return (type) => {
    if (!found.has(type))
      try {
        found.set(type, providers.get(type as never, { strict: false }));
      } catch {
        found.set(type, undefined);
      }
    return found.get(type);
  };
}
