/** A mistake that somebody could make in the contracts: what stands there, and what he writes instead. */
export interface Mutant {
  name: string;
  contract: 'SavingsPool' | 'LotteryPool';
  before: string;
  after: string;
  /** What the invariants have to say of it. */
  told: RegExp;
}

export const MUTANTS: Mutant[] = [
  {
    name: 'a deposit before yield is settled',
    contract: 'SavingsPool',
    before: 'Account storage account = _settle(poolId, holder);\n        account.balance +=',
    after: 'Account storage account = _accounts[poolId][holder];\n        account.balance +=',
    told: /weight|yield|claim|owes more/,
  },
  {
    name: 'yield that is claimed twice',
    contract: 'SavingsPool',
    before: 'account.owed = 0;',
    after: '',
    told: /claim|yield|owes more/,
  },
  {
    name: 'a withdrawal without the total',
    contract: 'SavingsPool',
    before: 'pool.total -= uint128(amount);',
    after: '',
    told: /total|weight/,
  },
  {
    name: 'a withdrawal that keeps its weight',
    contract: 'SavingsPool',
    before: 'pool.offset -= _offset(amount);',
    after: '',
    told: /weight|yield/,
  },
  {
    name: 'a number that is there twice',
    contract: 'SavingsPool',
    before: 'emit Withdrawn(poolId, ref, msg.sender, amount, _nextSeq());',
    after: 'emit Withdrawn(poolId, ref, msg.sender, amount, seq);',
    told: /a number is missing, or there twice/,
  },
  {
    name: 'shares that are rounded up',
    contract: 'SavingsPool',
    before: 'first.yieldPerWeight, SCALE)',
    after: 'first.yieldPerWeight, SCALE, Math.Rounding.Ceil)',
    told: /more yield/,
  },
  {
    name: 'yield that nobody pays',
    contract: 'SavingsPool',
    before: 'emit YieldAccrued(poolId, amount, aprBps, _nextSeq());\n        _pull(amount);',
    after: 'emit YieldAccrued(poolId, amount, aprBps, _nextSeq());',
    told: /tokens|owes more/,
  },
  {
    name: 'two deposits in one pool at once',
    contract: 'SavingsPool',
    before: 'poolIds[i] <= poolIds[i - 1]',
    after: 'poolIds[i] < poolIds[i - 1]',
    told: /a call that must fail/,
  },
  {
    name: 'yield that is paid in again without consent',
    contract: 'SavingsPool',
    before: 'if (found.place == 0) return 0;',
    after: '',
    told: /consent|paid in again|compounding/,
  },
  {
    name: 'yield that is paid in again for whoever sends the call',
    contract: 'SavingsPool',
    before: '_credit(poolIds[i], COMPOUNDED, accounts[i], ',
    after: '_credit(poolIds[i], COMPOUNDED, msg.sender, ',
    told: /consent|tokens|somebody else/,
  },
  {
    name: 'yield that is paid out as well as in again',
    contract: 'SavingsPool',
    before: 'done = true;',
    after: 'done = true;\n            token.safeTransfer(msg.sender, 1);',
    told: /tokens|owes more/,
  },
  {
    name: 'dust that is paid in again',
    contract: 'SavingsPool',
    before: 'amount < minimumDeposit || amount >',
    after: 'amount == 0 || amount >',
    told: /paid in again|compounding/,
  },
  {
    name: 'compounding that one account spoils for the others',
    contract: 'SavingsPool',
    before: '== 0) continue;',
    after: '== 0) revert NothingToClaim();',
    told: /compounding failed/,
  },
  {
    name: 'an account that is lost when another stops to compound',
    contract: 'SavingsPool',
    before: '_accounts[last.poolId][last.account].place = place;',
    after: '',
    told: /list|a start|a stop|calls/,
  },
  {
    name: 'an account that cannot stop to compound',
    contract: 'SavingsPool',
    before: '_accounts[poolId][msg.sender].place = 0;',
    after: '',
    told: /whether an account compounds|a start|a stop/,
  },
  {
    name: 'a cost that grows with the events',
    contract: 'SavingsPool',
    before: 'return ++seq;',
    after: 'for (uint128 i; i < seq; ++i) require(_pools[bytes16(~i)].total == 0);\n        return ++seq;',
    told: /too much gas/,
  },
  {
    name: 'a refund that is paid twice',
    contract: 'LotteryPool',
    before: '_paidIn[drawId][msg.sender] = 0;',
    after: '',
    told: /refund|owes more/,
  },
  {
    name: 'a refund of an open draw',
    contract: 'LotteryPool',
    before: '== Status.CANCELLED ? _paidIn',
    after: '!= Status.COMPLETED ? _paidIn',
    told: /refund|owes more/,
  },
  {
    name: 'a prize that is paid twice',
    contract: 'LotteryPool',
    before: 'draw.paid = true;',
    after: '',
    told: /prize|winner|owes more/,
  },
  {
    name: 'a prize that anyone sends on',
    contract: 'LotteryPool',
    before: 'if (msg.sender != _draws[drawId].winner) revert NotAllowed();',
    after: '',
    told: /a prize that cannot be sent on, or must not be/,
  },
  {
    name: 'tickets that are sold too late',
    contract: 'LotteryPool',
    before: 'if (block.timestamp >= draw.drawTime) revert DrawTimePassed();',
    after: '',
    told: /tickets sold too late/,
  },
  {
    name: 'a winner by the ticket before',
    contract: 'LotteryPool',
    before: 'lowerLookup(uint96(ticket + 1))',
    after: 'lowerLookup(uint96(ticket))',
    told: /won by another ticket/,
  },
  {
    name: 'another block that picks, before the first has',
    contract: 'LotteryPool',
    before: 'block.number <= draw.pickBlock + HASH_WINDOW',
    after: 'block.number < draw.pickBlock',
    told: /winner|closed anew/,
  },
  {
    name: 'a draw that anyone cancels without waiting',
    contract: 'LotteryPool',
    before: 'block.timestamp < draw.drawTime + GRACE',
    after: 'block.timestamp < draw.drawTime',
    told: /a draw that cannot be cancelled, or must not be/,
  },
];
