import { ArgumentMetadata, Injectable, ValidationError, ValidationPipe } from '@nestjs/common';
import { ErrorDetail, validationFailed } from './errors';

/**
 * Context of a rule on array elements: tells which elements break it, so that the error can name them.
 * @example `@Matches(ADDRESS, { each: true, context: { element: isAddress } })`
 */
export interface ElementContext {
  element: (value: unknown) => boolean;
}

/** Validates and transforms DTOs; every violation becomes a detail with the field's path. */
@Injectable()
export class DtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      transformOptions: { exposeUnsetFields: false },
      forbidUnknownValues: false,
      validationError: { target: false },
      exceptionFactory: (errors) => validationFailed(...errors.flatMap((error) => describe(error))),
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && (typeof value !== 'object' || value === null || Array.isArray(value)))
      throw validationFailed({ field: 'body', message: 'must be a JSON object' });
    // null counts as absent, so that defaults apply.
    const given = isRecord(value)
      ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
      : value;
    return super.transform(given, metadata) as Promise<unknown>;
  }
}

function describe(error: ValidationError): ErrorDetail[] {
  const messages = Object.values(error.constraints ?? {});
  const context = Object.values(error.contexts ?? {})[0] as ElementContext | undefined;
  if (context && Array.isArray(error.value)) {
    const message = messages[0]?.replace('each value in ', '') ?? 'is invalid';
    return error.value.flatMap((element: unknown, index) =>
      context.element(element) ? [] : [{ field: `${error.property}[${index}]`, message }],
    );
  }
  return messages.map((message) => ({ field: error.property, message }));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
