import { Controller, Get, Header, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { JsonText } from '#platform/answers/json-text';
import { ApiData } from '#platform/openapi/api-docs';
import { lotteryPoolAbi, savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { Public } from '#features/access/auth.guard';
import { ClientConfig, ContractAbis } from './config.dto';
import { ClientConfigService } from './config.service';

const ABIS = new JsonText<ContractAbis>(
  JSON.stringify({
    savingsPool: savingsPoolAbi,
    lotteryPool: lotteryPoolAbi,
    rotatingPool: rotatingPoolAbi,
    token: tokenAbi,
  }),
);

@Controller('config')
@Public()
export class ConfigController {
  constructor(private readonly config: ClientConfigService) {}

  @Get()
  @ApiData(ClientConfig, {
    summary: 'Get chain, token, contracts and rules',
    description: 'Returns what a client needs before it signs in or pays. Caches can store it for a minute.',
  })
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<ClientConfig> {
    const config = await this.config.read();
    // Until the chain is known, clients should ask again soon.
    if (config.token) void reply.header('cache-control', 'public, max-age=60');
    return config;
  }

  @Get('abi')
  @ApiData(ContractAbis, {
    summary: 'Get the ABI of contracts and token',
    description:
      'Returns the functions that savers call and read, and the errors with which these calls revert.',
  })
  @Header('cache-control', 'public, max-age=3600')
  abi(): JsonText<ContractAbis> {
    return ABIS;
  }
}
