import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { getMetadataStorage } from 'class-validator';

/**
 * Every part of class-validator and class-transformer that they do not export or describe, with the reason why we need
 * it. Others import these from here; validation.pipe.spec.ts fails if one of them changes.
 */

type Storage = ReturnType<typeof getMetadataStorage>;
type Rules = ReturnType<Storage['getTargetValidationMetadatas']>;

/** The rules of a class and its ancestors, in the order in which class-validator asks them. */
export const rulesOf = (dto: new (...args: never[]) => unknown): Rules =>
  getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);

/**
 * Remembers the rules of each class until a rule is added. At each validation class-validator reads those of all classes
 * to find inherited ones, which costs a tenth of a small read, and more with every DTO. It still does so for groups, of
 * which we have none, and for a body with a field `constructor`, because only classes are remembered.
 */
function rememberRules(storage: Storage): void {
  const find = storage.getTargetValidationMetadatas.bind(storage);
  const add = storage.addValidationMetadata.bind(storage);
  let found = new WeakMap<object, Rules>();
  storage.addValidationMetadata = (rule) => {
    found = new WeakMap();
    add(rule);
  };
  storage.getTargetValidationMetadatas = (target, schema, always, strictGroups, groups) => {
    if (typeof target !== 'function' || always || strictGroups || groups?.length)
      return find(target, schema, always, strictGroups, groups);
    let rules = found.get(target);
    if (!rules) found.set(target, (rules = find(target, schema, always, strictGroups, groups)));
    return rules;
  };
}
rememberRules(getMetadataStorage());

/** What `@Expose` says. class-transformer offers no other way to read it. */
export { defaultMetadataStorage };
