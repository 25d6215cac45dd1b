import { ApiProperty } from '@nestjs/swagger';

export type DatabaseStatus = 'connected' | 'disconnected';
export type BlockchainStatus = 'synced' | 'syncing' | 'disconnected';
export type RedisStatus = 'connected' | 'disconnected' | 'disabled';

export class HealthServices {
  @ApiProperty({ enum: ['connected', 'disconnected'] }) database: DatabaseStatus;
  @ApiProperty({ enum: ['synced', 'syncing', 'disconnected'] }) blockchain: BlockchainStatus;
  @ApiProperty({ enum: ['connected', 'disconnected', 'disabled'] }) redis: RedisStatus;
}

export class HealthReport {
  @ApiProperty({ enum: ['healthy', 'degraded', 'unhealthy'] }) status: 'healthy' | 'degraded' | 'unhealthy';
  @ApiProperty({ format: 'date-time' }) timestamp: string;
  @ApiProperty({ type: 'integer', description: 'Seconds' }) uptime: number;
  @ApiProperty({ type: HealthServices }) services: HealthServices;
}

export class Liveness {
  @ApiProperty({ enum: ['alive'] }) status: 'alive';
}
