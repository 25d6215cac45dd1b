/** A mistake that somebody could make in the contracts: what stands there, and what he writes instead. */
export interface Mutant {
  name: string;
  contract: 'SavingsPool' | 'LotteryPool' | 'RotatingPool';
  before: string;
  after: string;
  /** Of sequences that show it, if the usual ones do not. */
  seed?: number;
}

export const MUTANTS: Mutant[] = [
  {
    name: 'a deposit before yield is settled',
    contract: 'SavingsPool',
    before: 'Account storage account = _settle(poolId, holder);\n        account.balance +=',
    after: 'Account storage account = _accounts[poolId][holder];\n        account.balance +=',
  },
  {
    name: 'yield that is claimed twice',
    contract: 'SavingsPool',
    before: 'account.owed = 0;',
    after: '',
  },
  {
    name: 'a withdrawal without the total',
    contract: 'SavingsPool',
    before: 'pool.total -= uint128(amount);',
    after: '',
  },
  {
    name: 'a withdrawal that keeps its weight',
    contract: 'SavingsPool',
    before: 'pool.offset -= _offset(amount);',
    after: '',
  },
  {
    name: 'a number that is there twice',
    contract: 'SavingsPool',
    before: 'emit Withdrawn(poolId, ref, msg.sender, amount, _nextSeq());',
    after: 'emit Withdrawn(poolId, ref, msg.sender, amount, seq);',
  },
  {
    name: 'shares that are rounded up',
    contract: 'SavingsPool',
    before: 'first.yieldPerWeight, SCALE)',
    after: 'first.yieldPerWeight, SCALE, Math.Rounding.Ceil)',
  },
  {
    name: 'yield that nobody pays',
    contract: 'SavingsPool',
    before: 'emit YieldAccrued(poolId, amount, aprBps, _nextSeq());\n        _pull(amount);',
    after: 'emit YieldAccrued(poolId, amount, aprBps, _nextSeq());',
  },
  {
    name: 'two deposits in one pool at once',
    contract: 'SavingsPool',
    before: 'poolIds[i] <= poolIds[i - 1]',
    after: 'poolIds[i] < poolIds[i - 1]',
  },
  {
    name: 'yield that is paid in again without consent',
    contract: 'SavingsPool',
    before: 'if (found.place == 0) return 0;',
    after: '',
  },
  {
    name: 'yield that is paid in again for whoever sends the call',
    contract: 'SavingsPool',
    before: '_credit(poolIds[i], COMPOUNDED, accounts[i], ',
    after: '_credit(poolIds[i], COMPOUNDED, msg.sender, ',
  },
  {
    name: 'yield that is paid out as well as in again',
    contract: 'SavingsPool',
    before: 'done = true;',
    after: 'done = true;\n            token.safeTransfer(msg.sender, 1);',
  },
  {
    name: 'dust that is paid in again',
    contract: 'SavingsPool',
    before: 'amount < minimumDeposit || amount >',
    after: 'amount == 0 || amount >',
  },
  {
    name: 'compounding that one account spoils for the others',
    contract: 'SavingsPool',
    before: '== 0) continue;',
    after: '== 0) revert NothingToClaim();',
  },
  {
    name: 'an account that is lost when another stops to compound',
    contract: 'SavingsPool',
    before: '_accounts[last.poolId][last.account].place = place;',
    after: '',
  },
  {
    name: 'an account that cannot stop to compound',
    contract: 'SavingsPool',
    before: '_accounts[poolId][msg.sender].place = 0;',
    after: '',
  },
  {
    name: 'a cost that grows with the events',
    contract: 'SavingsPool',
    before: 'pool.total += uint128(amount);',
    after:
      'for (uint128 i; i < seq; ++i) require(_pools[bytes16(~i)].total == 0);\n        pool.total += uint128(amount);',
  },
  {
    name: 'a refund that is paid twice',
    contract: 'LotteryPool',
    before: '_paidIn[drawId][msg.sender] = 0;',
    after: '',
  },
  {
    name: 'a refund of an open draw',
    contract: 'LotteryPool',
    before: '== Status.CANCELLED ? _paidIn',
    after: '!= Status.COMPLETED ? _paidIn',
  },
  {
    name: 'a prize that is paid twice',
    contract: 'LotteryPool',
    before: 'draw.paid = true;',
    after: '',
  },
  {
    name: 'a prize that anyone sends on',
    contract: 'LotteryPool',
    before: 'if (msg.sender != _draws[drawId].winner) revert NotAllowed();',
    after: '',
  },
  {
    name: 'tickets that are sold too late',
    contract: 'LotteryPool',
    before: 'if (block.timestamp >= draw.drawTime) revert DrawTimePassed();',
    after: '',
  },
  {
    name: 'a winner by the ticket before',
    contract: 'LotteryPool',
    before: 'lowerLookup(uint96(ticket + 1))',
    after: 'lowerLookup(uint96(ticket))',
    seed: 5,
  },
  {
    name: 'another block that picks, before the first has',
    contract: 'LotteryPool',
    before: 'block.number <= draw.pickBlock + HASH_WINDOW',
    after: 'block.number < draw.pickBlock',
  },
  {
    name: 'a draw that anyone cancels without waiting',
    contract: 'LotteryPool',
    before: 'block.timestamp < draw.drawTime + GRACE',
    after: 'block.timestamp < draw.drawTime',
  },
  {
    name: 'a payout that is paid twice',
    contract: 'RotatingPool',
    before: '_memberOf(circleId, msg.sender).paidOut = true;',
    after: '',
  },
  {
    name: 'a refund of a circle that is paid twice',
    contract: 'RotatingPool',
    before: '_memberOf(circleId, msg.sender).refunded = true;',
    after: '',
  },
  {
    name: 'a collateral that pays without becoming less',
    contract: 'RotatingPool',
    before: '++member.missed;',
    after: '',
  },
  {
    name: 'a collateral that reaches once too often',
    contract: 'RotatingPool',
    before: '(uint256(member.missed) + 1) * circle.contribution > circle.collateral',
    after: 'uint256(member.missed) * circle.contribution > circle.collateral',
  },
  {
    name: 'a collateral that comes back while the circle runs',
    contract: 'RotatingPool',
    before: 'if (circle.status == Status.COMPLETED || circle.status == Status.CANCELLED) refund',
    after: 'refund',
  },
  {
    name: 'a contribution of a cancelled round that stays',
    contract: 'RotatingPool',
    before: 'if (member.paidRound == circle.round + 1) held +=',
    after: 'if (circle.status == Status.RUNNING && member.paidRound == circle.round + 1) held +=',
  },
  {
    name: 'a contribution that is made twice in a round',
    contract: 'RotatingPool',
    before: 'if (member.paidRound == round + 1) revert AlreadyPaid();',
    after: '',
  },
  {
    name: 'a contribution after the end of the round',
    contract: 'RotatingPool',
    before: 'if (block.timestamp >= circle.until) revert TooLate();',
    after: 'if (block.timestamp > circle.until) revert TooLate();',
  },
  {
    name: 'a round that ends too early',
    contract: 'RotatingPool',
    before: 'if (block.timestamp < circle.until) revert TooEarly();',
    after: '',
  },
  {
    name: 'a round that waits although all have paid',
    contract: 'RotatingPool',
    before: 'if (circle.paid < circle.members) {',
    after: 'if (circle.paid <= circle.members) {',
  },
  {
    name: 'payers that are counted on in the next round',
    contract: 'RotatingPool',
    before: '= (round + 1, 0, nextEnd)',
    after: '= (round + 1, circle.paid, nextEnd)',
  },
  {
    name: 'a pot for the turn after',
    contract: 'RotatingPool',
    before: 'place <= circle.round && !member.paidOut',
    after: 'place <= circle.round + 1 && !member.paidOut',
  },
  {
    name: 'a circle that others cancel before its time',
    contract: 'RotatingPool',
    before: '&& block.timestamp <= circle.until) revert NotAllowed',
    after: '&& block.timestamp < circle.until) revert NotAllowed',
  },
  {
    name: 'somebody who joins too late',
    contract: 'RotatingPool',
    before: 'if (block.timestamp > circle.until) revert TooLate();',
    after: '',
  },
  {
    name: 'a member who is named twice',
    contract: 'RotatingPool',
    before: ' || _places[circleId][account] != 0',
    after: '',
  },
  {
    name: 'a circle that is lost when another ends',
    contract: 'RotatingPool',
    before: '_circles[last].listed = listed;',
    after: '',
  },
  {
    name: 'a contribution that nobody pays',
    contract: 'RotatingPool',
    before:
      'emit Contributed(circleId, circle.poolId, ref, msg.sender, round, amount, _nextSeq());\n        _pull(amount);',
    after: 'emit Contributed(circleId, circle.poolId, ref, msg.sender, round, amount, _nextSeq());',
  },
  {
    name: 'an event of a circle without a number',
    contract: 'RotatingPool',
    before: 'emit CollateralUsed(circleId, poolId, member.account, round, amount, _nextSeq());',
    after: 'emit CollateralUsed(circleId, poolId, member.account, round, amount, seq);',
  },
];
