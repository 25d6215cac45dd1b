import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { getMetadataStorage } from 'class-validator';

/**
 * Every part of class-validator and class-transformer that they do not export or describe, with the reason why we need
 * it. Others import these from here; compiled-rules.spec.ts fails if one of them changes.
 */

/** The rules of a class and its ancestors, in the order in which class-validator asks them. */
export const rulesOf = (
  dto: new (...args: never[]) => unknown,
): ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']> =>
  getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);

/**
 * Name of the class that class-validator makes around a rule that is a function. Only such a rule can be asked without
 * class-validator.
 */
export const OF_A_FUNCTION = 'CustomConstraint';

/** What `@Expose`, `@Exclude`, `@Type` and `@Transform` say. class-transformer offers no other way to read it. */
export { defaultMetadataStorage };
