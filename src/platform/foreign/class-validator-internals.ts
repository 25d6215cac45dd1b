import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { getMetadataStorage } from 'class-validator';

/**
 * Every part of class-validator and class-transformer that they do not export or describe, with the reason why we need
 * it. Others import these from here; validation.pipe.spec.ts fails if one of them changes.
 */

/** The rules of a class and its ancestors, in the order in which class-validator asks them. */
export const rulesOf = (
  dto: new (...args: never[]) => unknown,
): ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']> =>
  getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);

/** What `@Expose` says. class-transformer offers no other way to read it. */
export { defaultMetadataStorage };
