import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import {
  type ValidationArguments,
  type ValidatorConstraintInterface,
  ValidationTypes,
  getMetadataStorage,
} from 'class-validator';

type Class = new () => Record<string, unknown>;
type Check = (value: unknown, dto: Record<string, unknown>) => boolean;

interface Field {
  /** Whether the rules apply, such as those of IsOptional and ValidateIf. */
  conditions: Check[];
  rules: Check[];
}

/**
 * Makes an instance of a DTO from the body of a request if the body obeys all rules: the same instance that
 * class-transformer and class-validator would make, which read all decorators again for each request.
 * @returns undefined if the body may break a rule, or holds null or objects; they decide then, and tell what is wrong
 */
export type CompiledRules = (body: Record<string, unknown>) => object | undefined;

/**
 * @returns undefined for a class with decorators of class-transformer, nested or asynchronous rules, groups, or
 * constraints that may be providers
 */
export function compileRules(dto: unknown): CompiledRules | undefined {
  if (typeof dto !== 'function') return undefined;
  let isAsync = false;
  const fields = fieldsOf(dto as Class, () => (isAsync = true));
  if (!fields) return undefined;
  return (body) => {
    if (isAsync || Object.getPrototypeOf(body) !== Object.prototype) return undefined;
    const made = new (dto as Class)();
    for (const name of Object.keys(body)) {
      if (!fields.has(name)) {
        // The name of a method, or of a setter, which class-transformer would call.
        if (name in made) return undefined;
        continue;
      }
      const value = body[name];
      if (isPlain(value)) made[name] = value;
      else if (Array.isArray(value) && everyElement(value, isPlain)) made[name] = value.slice();
      else return undefined;
    }
    for (const [name, { conditions, rules }] of fields) {
      const value = made[name];
      const holds = (check: Check): boolean => check(value, made);
      if (conditions.every(holds) && !rules.every(holds)) return undefined;
    }
    return made;
  };
}

/** @param onPromise is called when a rule answers with a promise */
function fieldsOf(dto: Class, onPromise: () => void): Map<string, Field> | undefined {
  const storage = getMetadataStorage();
  const fields = new Map<string, Field>();
  if (defaultMetadataStorage.getExposedMetadatas(dto).length > 0) return undefined;
  if (defaultMetadataStorage.getExcludedMetadatas(dto).length > 0) return undefined;
  for (const rule of storage.getTargetValidationMetadatas(dto, '', false, false)) {
    const { propertyName: name, constraints, each, groups, validateIf } = rule;
    const isTransformed =
      defaultMetadataStorage.findTypeMetadata(dto, name) !== undefined ||
      defaultMetadataStorage.findTransformMetadatas(dto, name, PLAIN_TO_CLASS).length > 0;
    if (isTransformed || groups?.length || validateIf || name in dto.prototype) return undefined;
    const field = fields.get(name) ?? { conditions: [], rules: [] };
    fields.set(name, field);
    if (rule.type === ValidationTypes.CONDITIONAL_VALIDATION) {
      const [applies] = constraints as [(dto: object, value: unknown) => boolean];
      field.conditions.push((value, made) => applies(made, value));
      continue;
    }
    if (rule.type !== ValidationTypes.CUSTOM_VALIDATION) return undefined;
    for (const { async, target, instance } of storage.getTargetValidatorConstraints(rule.constraintCls)) {
      // Of a class of its own: only class-validator knows how to make it.
      if (async || target.name !== OF_A_FUNCTION) return undefined;
      const about = { targetName: dto.name, property: name, constraints };
      field.rules.push(checkOf(instance, about, each, onPromise));
    }
  }
  // Fields without rules are removed, those with a default value too.
  const hasOnlyRuled = Object.keys(new dto()).every((name) => fields.has(name));
  return fields.size > 0 && hasOnlyRuled ? fields : undefined;
}

/** The value of class-transformer's TransformationType. */
const PLAIN_TO_CLASS = 0;
/** The name that class-validator gives to the class of a rule that is a function. */
const OF_A_FUNCTION = 'CustomConstraint';

function checkOf(
  instance: ValidatorConstraintInterface,
  { targetName, property, constraints }: Omit<ValidationArguments, 'object' | 'value'>,
  each: boolean,
  onPromise: () => void,
): Check {
  return (value, object) => {
    const context: ValidationArguments = { targetName, property, object, value, constraints };
    const obeys = (one: unknown): boolean => {
      const answer = instance.validate(one, context);
      // class-validator asks again and waits. Nobody waits for this one, so its failure must not end the process.
      if (answer instanceof Promise) {
        answer.catch(() => undefined);
        onPromise();
      }
      return answer === true;
    };
    return each && Array.isArray(value) ? everyElement(value, obeys) : obeys(value);
  };
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** Unlike `every`, asks about the gaps of a list too. */
function everyElement(list: unknown[], holds: (element: unknown) => boolean): boolean {
  for (let index = 0; index < list.length; index++) if (!holds(list[index])) return false;
  return true;
}
