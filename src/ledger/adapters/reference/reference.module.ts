import { Module } from '@nestjs/common';
import { ReferencePool } from './reference-pool';

/** The contracts of this repository. */
@Module({ providers: [ReferencePool] })
export class ReferenceModule {}
