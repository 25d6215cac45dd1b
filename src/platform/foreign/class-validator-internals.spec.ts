import 'reflect-metadata';
import { Exclude, Expose, Transform, TransformationType, Type } from 'class-transformer';
import { IsOptional, IsString, Length, ValidationTypes, getMetadataStorage } from 'class-validator';
import { OF_A_FUNCTION, defaultMetadataStorage, rulesOf } from './class-validator-internals';

class Parent {
  @IsOptional()
  @IsString({ each: true })
  name: string[];

  @Type(() => Number)
  @Transform(({ value }) => [value, 1] as unknown)
  @Transform(({ value }) => [value, 2] as unknown, { groups: ['g'] })
  size: number;
}

class Child extends Parent {
  @Length(1, 5)
  @Expose({ name: 'other' })
  @Exclude()
  more: string;
}

describe('the insides of class-validator and class-transformer that we use', () => {
  it('rulesOf reads the rules of a class and its ancestors', () => {
    expect(rulesOf(Child)).toEqual([
      expect.objectContaining({ propertyName: 'more', each: false, constraints: [1, 5] }),
      expect.objectContaining({ propertyName: 'name', each: true }),
      expect.objectContaining({ propertyName: 'name', type: ValidationTypes.CONDITIONAL_VALIDATION }),
    ]);
    for (const { groups, validateIf } of rulesOf(Child))
      expect([groups?.length ?? 0, validateIf]).toEqual([0, undefined]);
    const [length, , optional] = rulesOf(Child);
    expect(length.type).toBe(ValidationTypes.CUSTOM_VALIDATION);
    const applies = optional.constraints[0] as (object: object, value: unknown) => boolean;
    expect([applies({}, undefined), applies({ name: 'x' }, 'x')]).toEqual([false, true]);
    const [rule] = getMetadataStorage().getTargetValidatorConstraints(length.constraintCls);
    const context = { targetName: 'Child', property: 'more', object: {}, value: '', constraints: [1, 5] };
    expect([rule.async, rule.instance.validate('x', context)]).toEqual([false, true]);
    expect(rule.instance.validate('', context)).toBe(false);
  });

  it('OF_A_FUNCTION names the class of a rule that is a function', () => {
    const [rule] = getMetadataStorage().getTargetValidatorConstraints(rulesOf(Child)[0].constraintCls);
    expect(rule.target.name).toBe(OF_A_FUNCTION);
  });

  it('defaultMetadataStorage knows the decorators of class-transformer, and inherits them', () => {
    const type = defaultMetadataStorage.findTypeMetadata(Child, 'size');
    expect([type.typeFunction(), type.typeFunction.length, type.reflectedType]).toEqual([Number, 0, Number]);
    const found = defaultMetadataStorage.findTransformMetadatas(
      Child,
      'size',
      TransformationType.PLAIN_TO_CLASS,
    );
    expect(
      found.map(({ options, transformFn }) => [options.groups, transformFn({ value: 0 } as never)]),
    ).toEqual([
      [undefined, [0, 1]],
      [['g'], [0, 2]],
    ]);
    const none = defaultMetadataStorage.findTransformMetadatas(
      Child,
      'name',
      TransformationType.PLAIN_TO_CLASS,
    );
    expect([none, defaultMetadataStorage.findTypeMetadata(Child, 'name')]).toEqual([[], undefined]);
    const [exposed] = defaultMetadataStorage.getExposedMetadatas(Child);
    expect(exposed).toMatchObject({ propertyName: 'more', options: { name: 'other' } });
    expect(defaultMetadataStorage.getExcludedMetadatas(Child)).toMatchObject([{ propertyName: 'more' }]);
    expect(defaultMetadataStorage.getExposedMetadatas(Parent)).toEqual([]);
  });
});
