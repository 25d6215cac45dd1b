import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ApiInteger, ApiTime } from '#platform/openapi/fields';

export type DatabaseStatus = 'connected' | 'disconnected';
export type BlockchainStatus = 'synced' | 'syncing' | 'disconnected';
type RedisStatus = 'connected' | 'disconnected' | 'disabled';

/** By name, as Terminus answers. */
const indicators = (description: string): ApiPropertyOptions => ({
  type: 'object',
  description,
  additionalProperties: {
    type: 'object',
    required: ['status'],
    properties: { status: { type: 'string' } },
    additionalProperties: true,
  },
  example: { database: { status: 'up' }, process: { status: 'up' }, schema: { status: 'up' } },
});

export class HealthServices {
  @ApiProperty({ enum: ['connected', 'disconnected'] }) database: DatabaseStatus;
  @ApiProperty({ enum: ['synced', 'syncing', 'disconnected'] }) blockchain: BlockchainStatus;
  @ApiProperty({ enum: ['connected', 'disconnected', 'disabled'] }) redis: RedisStatus;
}

export class HealthReport {
  @ApiProperty({ enum: ['healthy', 'degraded', 'unhealthy'] }) status: 'healthy' | 'degraded' | 'unhealthy';
  @ApiTime() timestamp: string;
  @ApiInteger('Uptime in seconds') uptime: number;
  @ApiProperty({ type: HealthServices }) services: HealthServices;
  @ApiInteger(
    'Last block that the service has applied, except for contracts that are loading; null while unknown',
    { nullable: true },
  )
  block: number | null;
}

export class Liveness {
  @ApiProperty({ enum: ['alive'] }) status: 'alive';
}

export class ReadinessReport {
  @ApiProperty({ enum: ['ok'] }) status: 'ok';
  @ApiProperty(indicators('Dependencies that are up')) info: Record<string, { status: string }>;
  @ApiProperty({ ...indicators('Dependencies that are down; empty with status 200'), example: {} })
  error: Record<string, { status: string }>;
  @ApiProperty(indicators('All dependencies')) details: Record<string, { status: string }>;
}
