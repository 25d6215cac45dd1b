import { ApiAddress, ApiAmount, ApiId, ApiInteger, ApiTime } from '#platform/openapi/fields';

export class MeResponse {
  @ApiId() id: string;
  @ApiAddress() address: string;
  @ApiInteger('Pools that the user owns') poolCount: number;
  @ApiAmount('Sum of the deposits made by the user, pending included') totalDeposits: string;
  @ApiTime() createdAt: string;
}

export class Profile extends MeResponse {
  @ApiTime('Expiry of the token, unless the session ends earlier') tokenExpiresAt: string;
  @ApiInteger('Chain of the signed message; null for a token without one', { nullable: true, example: 1 })
  chainId: number | null;
}
