import { Module } from '@nestjs/common';
import { ReferenceCircles } from './reference-circles';
import { ReferencePool } from './reference-pool';

/** The contracts of this repository. */
@Module({ providers: [ReferencePool, ReferenceCircles] })
export class ReferenceModule {}
