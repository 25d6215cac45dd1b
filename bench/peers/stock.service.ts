import { ForbiddenException, Injectable, NotFoundException, UnauthorizedException } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { InjectRepository } from '@nestjs/typeorm';
import { SiweMessage, generateNonce } from 'siwe';
import { In, MoreThan, Not, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Address, type Hex, verifyMessage } from 'viem';
import type { CreatePool, PageQuery } from './stock.dto';
import { LotteryDraw, Nonce, Pool, PoolMember, Transaction, User } from './stock.entities';

export interface Caller {
  userId: string;
  address: string;
}

const DAY = `to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/** Everything through repositories and the query builder; totals are sums over the rows. */
@Injectable()
export class StockService {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    @InjectRepository(Nonce) private readonly nonces: Repository<Nonce>,
    @InjectRepository(Pool) private readonly pools: Repository<Pool>,
    @InjectRepository(Transaction) private readonly transactions: Repository<Transaction>,
    @InjectRepository(LotteryDraw) private readonly draws: Repository<LotteryDraw>,
    private readonly jwt: JwtService,
  ) {}

  listPools({ userId, address }: Caller, { page, limit, type }: PageQuery): Promise<[Pool[], number]> {
    const query = this.pools
      .createQueryBuilder('pool')
      .leftJoinAndSelect('pool.members', 'member')
      .leftJoinAndSelect('pool.transactions', 'transaction')
      .where(
        `(pool.owner_id = :userId OR EXISTS (SELECT 1 FROM pool_members m WHERE m.pool_id = pool.id AND m.address = :address))`,
        { userId, address },
      );
    if (type) query.andWhere('pool.type = :type', { type });
    return query
      .orderBy('pool.createdAt', 'DESC')
      .skip((page - 1) * limit)
      .take(limit)
      .getManyAndCount();
  }

  async pool({ userId, address }: Caller, id: string): Promise<Pool> {
    const pool = await this.pools.findOne({
      where: { id },
      relations: { owner: true, members: true, transactions: true },
    });
    if (!pool) throw new NotFoundException();
    if (pool.owner.id !== userId && !pool.members.some((member) => member.address === address))
      throw new ForbiddenException();
    return pool;
  }

  async create({ userId, address }: Caller, request: CreatePool): Promise<{ pool: Pool; depositId: string }> {
    const members = new Set(request.members.map((member) => member.toLowerCase()));
    members.delete(address);
    const [id, createdAt, { type }] = [uuidv7(), new Date(), request];
    return this.pools.manager.transaction(async (manager) => {
      const pool = manager.create(Pool, {
        id,
        type,
        owner: { id: userId },
        contractAddress: `0x${'c'.repeat(40)}`,
        balance: request.initialDeposit,
        pendingBalance: request.initialDeposit,
        autoCompound: request.autoCompound,
        createdAt,
        lastUpdate: createdAt,
      });
      await manager.save(pool);
      await manager.save(PoolMember, [
        { poolId: id, address, role: 'OWNER', type },
        ...[...members].map((member) => ({ poolId: id, address: member, role: 'MEMBER', type })),
      ]);
      const { initialDeposit: amount } = request;
      const deposit = {
        id: uuidv7(),
        poolId: id,
        ownerId: userId,
        byOwner: true,
        type: 'DEPOSIT',
        status: 'PENDING',
        account: address,
        amount,
        createdAt,
      };
      await manager.save(Transaction, { ...deposit, requestedAmount: amount });
      return { pool, depositId: deposit.id };
    });
  }

  listTransactions(
    { userId, address }: Caller,
    { page, limit, type }: PageQuery,
  ): Promise<[Transaction[], number]> {
    const query = this.transactions
      .createQueryBuilder('t')
      .innerJoin('t.pool', 'pool')
      .leftJoin('pool.members', 'member', 'member.address = :address', { address })
      .where('(pool.owner_id = :userId OR member.address IS NOT NULL)', { userId });
    if (type) query.andWhere('t.type = :type', { type });
    return query
      .orderBy('t.createdAt', 'DESC')
      .skip((page - 1) * limit)
      .take(limit)
      .getManyAndCount();
  }

  async transaction({ userId, address }: Caller, txHash: string): Promise<Transaction> {
    const found = await this.transactions.findOne({
      where: { txHash },
      relations: { pool: { owner: true, members: true } },
    });
    if (!found) throw new NotFoundException();
    const { owner, members } = found.pool;
    if (owner.id !== userId && !members.some((member) => member.address === address))
      throw new ForbiddenException();
    return found;
  }

  async poolAnalytics(): Promise<object> {
    const byType = await this.pools
      .createQueryBuilder('pool')
      .select('pool.type', 'type')
      .addSelect('COUNT(*)', 'count')
      .groupBy('pool.type')
      .getRawMany<{ type: string; count: string }>();
    const sums = await this.pools
      .createQueryBuilder('pool')
      .select('COUNT(*)', 'pools')
      .addSelect('SUM(pool.totalYield)', 'yield')
      .addSelect('AVG(pool.aprBps)', 'apr')
      .getRawOne<{ pools: string; yield: string; apr: string }>();
    const deposits = await this.transactions
      .createQueryBuilder('t')
      .select('SUM(t.amount)', 'sum')
      .addSelect(`SUM(t.amount) FILTER (WHERE t.status = 'PENDING')`, 'pending')
      .where({ type: 'DEPOSIT', status: Not('EXPIRED') })
      .getRawOne<{ sum: string | null; pending: string | null }>();
    const counts = new Map(byType.map(({ type, count }) => [type, Number(count)]));
    return {
      totalPools: Number(sums?.pools),
      totalDeposits: deposits?.sum ?? '0',
      pendingDeposits: deposits?.pending ?? '0',
      totalYield: sums?.yield ?? '0',
      averageAPR: Math.round(Number(sums?.apr)) / 100,
      byType: Object.fromEntries(
        ['individual', 'cooperative', 'lottery', 'rotating'].map((type) => [type, counts.get(type) ?? 0]),
      ),
    };
  }

  async userAnalytics({ userId, address }: Caller): Promise<object> {
    const user = await this.users.findOneOrFail({ where: { id: userId }, relations: { pools: true } });
    const days = (type: string) =>
      this.transactions
        .createQueryBuilder('t')
        .select(DAY, 'date')
        .addSelect('SUM(t.amount)', 'amount')
        .where('t.account = :address AND t.type = :type AND t.status <> :expired', {
          address,
          type,
          expired: 'EXPIRED',
        })
        .groupBy(DAY)
        .orderBy(DAY)
        .getRawMany<{ date: string; amount: string }>();
    const [deposits, yields] = [await days('DEPOSIT'), await days('YIELD_CLAIM')];
    const pending = await this.transactions.findBy({ account: address, type: 'DEPOSIT', status: 'PENDING' });
    const total = (values: string[]): string =>
      values.reduce((sum, value) => sum + BigInt(value), 0n).toString();
    const apr = user.pools.reduce((sum, pool) => sum + pool.aprBps, 0) / (user.pools.length || 1);
    return {
      totalDeposited: total(deposits.map(({ amount }) => amount)),
      pendingDeposits: total(pending.map(({ amount }) => amount)),
      totalYield: total(user.pools.map((pool) => pool.totalYield)),
      yieldEarned: total(yields.map(({ amount }) => amount)),
      activePoolsCount: user.pools.filter(({ balance }) => BigInt(balance) > 0n).length,
      averageAPR: Math.round(apr) / 100,
      joinedAt: user.createdAt.toISOString(),
      chartData: { deposits, yields },
    };
  }

  async me({ userId, address: account }: Caller): Promise<object> {
    const user = await this.users.findOneByOrFail({ id: userId });
    const poolCount = await this.pools.countBy({ owner: { id: userId } });
    const found = await this.transactions
      .createQueryBuilder('t')
      .select('SUM(t.amount)', 'sum')
      .where({ account, type: 'DEPOSIT', status: Not('EXPIRED') })
      .getRawOne<{ sum: string | null }>();
    const { id, address, createdAt } = user;
    return { id, address, poolCount, totalDeposits: found?.sum ?? '0', createdAt: createdAt.toISOString() };
  }

  async currentDraw(): Promise<LotteryDraw> {
    const [draw] = await this.draws.find({
      where: { status: In(['ACTIVE', 'DRAWING']) },
      order: { drawId: 'DESC' },
      take: 1,
    });
    if (!draw) throw new NotFoundException();
    return draw;
  }

  winners({ page, limit }: PageQuery): Promise<[LotteryDraw[], number]> {
    const where = { status: 'COMPLETED' };
    return this.draws.findAndCount({
      where,
      order: { drawnAt: 'DESC' },
      skip: (page - 1) * limit,
      take: limit,
    });
  }

  async nonce(address: string): Promise<string> {
    const nonce = generateNonce();
    await this.nonces.save({
      nonce,
      address: address.toLowerCase(),
      expiresAt: new Date(Date.now() + 600_000),
    });
    return nonce;
  }

  async signIn(message: string, signature: string): Promise<object> {
    const siwe = new SiweMessage(message);
    const valid = await verifyMessage({
      address: siwe.address as Address,
      message,
      signature: signature as Hex,
    });
    const nonce = await this.nonces.findOneBy({ nonce: siwe.nonce, expiresAt: MoreThan(new Date()) });
    if (!valid || !nonce) throw new UnauthorizedException();
    await this.nonces.remove(nonce);
    const address = siwe.address.toLowerCase();
    const user =
      (await this.users.findOneBy({ address })) ??
      (await this.users.save({ id: uuidv7(), address, createdAt: new Date() }));
    const token = await this.jwt.signAsync({ userId: user.id, address });
    return { token, user: { id: user.id, address, createdAt: user.createdAt.toISOString() } };
  }
}
