// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {LotteryPool} from "contracts/LotteryPool.sol";
import {SavingsPool} from "contracts/SavingsPool.sol";
import {Vm} from "./Vm.sol";

/// @title What the events alone say
/// @notice Replays events with arithmetic of its own, the plain one: weights are summed up second by second held, and
/// every accrual is shared at once among all who have weight. The first event that breaks a rule stays in `fault`.
contract Model {
    struct Saver {
        uint256 balance;
        /// Token units times seconds since the last accrual, up to `since`.
        uint256 weight;
        uint256 since;
        /// Yield earned, each accrual's share rounded down, and rounded up.
        uint256 low;
        uint256 high;
        uint256 claimed;
    }

    struct Pool {
        uint256 total;
        uint256 accrued;
        uint256 claimed;
        /// Of each account's yield, at most: each accrual loses by its rate, which is rounded, and a unit by the share.
        uint256 lost;
    }

    struct Draw {
        LotteryPool.Status status;
        uint256 ticketPrice;
        uint256 drawTime;
        uint256 closedAt;
        uint256 tickets;
        uint256 prize;
        address winner;
        bool paid;
        uint256 refunded;
    }

    LotteryPool private immutable _pool;
    bytes16[2] private _ids;
    address[] private _accounts;

    string public fault;
    uint64 public seq;
    uint64 public draws;
    /// What an account's tokens rise and fall by.
    mapping(address account => int256) public flow;
    mapping(bytes16 id => Pool) public pools;
    mapping(bytes16 id => mapping(address account => Saver)) public savers;
    /// Who has said that its yield is to be paid in again.
    mapping(bytes16 id => mapping(address account => bool)) public compounds;
    /// What was claimed for an account by another, and is not paid in again yet.
    uint256 private _pending;
    mapping(uint64 drawId => Draw) private _draws;
    /// Who holds each ticket, by purchase: the buyer and the tickets sold up to then.
    mapping(uint64 drawId => address[]) private _buyers;
    mapping(uint64 drawId => uint256[]) private _sold;
    mapping(uint64 drawId => mapping(address account => uint256)) public ticketsOf;
    mapping(uint64 drawId => mapping(address account => uint256)) public paidIn;

    constructor(LotteryPool pool_, bytes16[2] memory ids, address[] memory accounts) {
        (_pool, _ids, _accounts) = (pool_, ids, accounts);
    }

    function drawOf(uint64 drawId) external view returns (Draw memory) {
        return _draws[drawId];
    }

    /// @param owner Who owned the contract when it wrote these
    /// @param from Who called it
    function replay(Vm.Log[] memory logs, address owner, address from) external {
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].emitter != address(_pool)) continue;
            (bytes32[] memory topics, bytes memory data) = (logs[i].topics, logs[i].data);
            bytes32 kind = topics[0];
            // Those of the owner are no events of money, and have no number.
            if (kind == Ownable.OwnershipTransferred.selector) continue;
            if (kind == Ownable2Step.OwnershipTransferStarted.selector) continue;
            uint64 number = _last(data);
            if (number != ++seq) return _fail("a number is missing, or there twice");
            if (topics.length == 4) {
                address holder = address(uint160(uint256(topics[3])));
                _consent(kind, topics, holder, _first(data), from);
                _movement(kind, bytes16(topics[1]), holder, _first(data));
            } else if (kind == SavingsPool.CompoundingStarted.selector) {
                _change(bytes16(topics[1]), address(uint160(uint256(topics[2]))), from, true);
            } else if (kind == SavingsPool.CompoundingStopped.selector) {
                _change(bytes16(topics[1]), address(uint160(uint256(topics[2]))), from, false);
            } else if (kind == SavingsPool.YieldAccrued.selector) {
                _accrue(bytes16(topics[1]), _first(data), owner);
            } else {
                address account = topics.length == 3 ? address(uint160(uint256(topics[2]))) : address(0);
                _ofDraw(kind, uint64(uint256(topics[1])), account, data);
            }
        }
        if (_pending != 0) _fail("yield that was claimed for another, and not paid in again");
    }

    /// @notice A winner had the prize sent to another.
    function passOn(address winner, address recipient, uint256 amount) external {
        flow[winner] -= int256(amount);
        flow[recipient] += int256(amount);
    }

    /// @notice What an account's balance weighs now.
    function weightOf(bytes16 id, address account) public view returns (uint256) {
        Saver storage saver = savers[id][account];
        return saver.weight + saver.balance * (block.timestamp - saver.since);
    }

    /// @dev Money moves by its holder's call. Yield that its holder wants paid in again moves by anyone's, at once.
    function _consent(bytes32 kind, bytes32[] memory topics, address holder, uint256 amount, address from) private {
        if (bytes16(topics[2]) != bytes16("compound")) {
            if (holder != from) _fail("somebody else's money");
            if (_pending != 0) _fail("yield that was claimed for another, and not paid in again");
            return;
        }
        if (!compounds[bytes16(topics[1])][holder]) return _fail("yield that moved without consent");
        if (kind == SavingsPool.YieldClaimed.selector) _pending += amount;
        else if (kind == SavingsPool.Deposited.selector && _pending == amount) _pending = 0;
        else _fail("another sum paid in again than was claimed");
    }

    function _change(bytes16 id, address account, address from, bool wanted) private {
        if (account != from) _fail("consent of another");
        if (compounds[id][account] == wanted) _fail("consent that changed nothing");
        compounds[id][account] = wanted;
    }

    function _movement(bytes32 kind, bytes16 id, address account, uint256 amount) private {
        Saver storage saver = savers[id][account];
        (saver.weight, saver.since) = (weightOf(id, account), block.timestamp);
        if (amount == 0) _fail("an event of nothing");
        if (kind == SavingsPool.Deposited.selector) {
            saver.balance += amount;
            pools[id].total += amount;
            flow[account] -= int256(amount);
        } else if (kind == SavingsPool.Withdrawn.selector) {
            if (amount > saver.balance) return _fail("more withdrawn than paid in");
            saver.balance -= amount;
            pools[id].total -= amount;
            flow[account] += int256(amount);
        } else if (kind == SavingsPool.YieldClaimed.selector) {
            if (saver.claimed + amount > saver.high) return _fail("more yield claimed than earned");
            saver.claimed += amount;
            pools[id].claimed += amount;
            flow[account] += int256(amount);
        } else {
            _fail("an unknown movement");
        }
    }

    function _accrue(bytes16 id, uint256 amount, address owner) private {
        flow[owner] -= int256(amount);
        pools[id].accrued += amount;
        uint256 total;
        for (uint256 i; i < _accounts.length; ++i) total += weightOf(id, _accounts[i]);
        if (total == 0) return _fail("yield for nobody");
        pools[id].lost += 2 + total / 2 ** 128;
        for (uint256 i; i < _accounts.length; ++i) {
            Saver storage saver = savers[id][_accounts[i]];
            uint256 weight = weightOf(id, _accounts[i]);
            saver.low += Math.mulDiv(amount, weight, total);
            saver.high += Math.mulDiv(amount, weight, total, Math.Rounding.Ceil);
            (saver.weight, saver.since) = (0, block.timestamp);
        }
    }

    function _ofDraw(bytes32 kind, uint64 drawId, address account, bytes memory data) private {
        Draw storage draw = _draws[drawId];
        LotteryPool.Status status = draw.status;
        if (kind == LotteryPool.DrawOpened.selector) {
            LotteryPool.Status before = _draws[draws].status;
            if (before == LotteryPool.Status.ACTIVE || before == LotteryPool.Status.DRAWING) _fail("two draws at once");
            if (drawId != ++draws) return _fail("a draw's number is missing, or there twice");
            (draw.ticketPrice, draw.drawTime,) = abi.decode(data, (uint256, uint64, uint64));
            if (draw.drawTime <= block.timestamp) _fail("opened for a time that is past");
            draw.status = LotteryPool.Status.ACTIVE;
        } else if (kind == LotteryPool.TicketsIssued.selector) {
            if (block.timestamp >= draw.drawTime) _fail("tickets sold too late");
            if (status != LotteryPool.Status.ACTIVE) _fail("tickets of a draw that is not open");
            ticketsOf[drawId][account] += _first(data);
            draw.tickets += _first(data);
            _buyers[drawId].push(account);
            _sold[drawId].push(draw.tickets);
        } else if (kind == LotteryPool.PrizeFunded.selector) {
            if (status != LotteryPool.Status.ACTIVE) _fail("paid into a draw that is not open");
            paidIn[drawId][account] += _first(data);
            draw.prize += _first(data);
            flow[account] -= int256(_first(data));
        } else if (kind == LotteryPool.DrawClosed.selector) {
            bool again = status == LotteryPool.Status.DRAWING;
            if (!again && status != LotteryPool.Status.ACTIVE) _fail("closed what is not open");
            if (again && block.number <= draw.closedAt + 257) _fail("closed again while a winner can be picked");
            if (block.timestamp < draw.drawTime) _fail("closed before its time");
            if (draw.tickets == 0) _fail("closed without tickets");
            (draw.status, draw.closedAt) = (LotteryPool.Status.DRAWING, block.number);
        } else if (kind == LotteryPool.DrawCompleted.selector) {
            if (status != LotteryPool.Status.DRAWING) _fail("completed what is not closed");
            if (block.number < draw.closedAt + 2) _fail("completed when the hash was not known yet");
            if (account != _winnerOf(drawId)) _fail("won by another ticket than the hash says");
            if (_first(data) != draw.prize) _fail("another prize than was paid in");
            (draw.status, draw.winner) = (LotteryPool.Status.COMPLETED, account);
        } else if (kind == LotteryPool.DrawCancelled.selector) {
            if (status != LotteryPool.Status.ACTIVE) _fail("cancelled what is not open");
            draw.status = LotteryPool.Status.CANCELLED;
        } else if (kind == LotteryPool.PrizePaid.selector) {
            if (status != LotteryPool.Status.COMPLETED) _fail("a prize before there is a winner");
            if (draw.paid) _fail("a prize paid twice");
            if (account != draw.winner || _first(data) != draw.prize) _fail("another prize, or to another");
            draw.paid = true;
            flow[account] += int256(_first(data));
        } else if (kind == LotteryPool.Refunded.selector) {
            if (status != LotteryPool.Status.CANCELLED) _fail("refunded what is not cancelled");
            if (_first(data) != paidIn[drawId][account]) _fail("refunded another sum than was paid in");
            paidIn[drawId][account] = 0;
            draw.refunded += _first(data);
            flow[account] += int256(_first(data));
        } else {
            _fail("an unknown event of a draw");
        }
    }

    function _winnerOf(uint64 drawId) private view returns (address) {
        bytes32 entropy = blockhash(_draws[drawId].closedAt + 1);
        uint256 ticket = uint256(keccak256(abi.encode(entropy, _pool, drawId))) % _draws[drawId].tickets;
        uint256 i;
        while (_sold[drawId][i] <= ticket) ++i;
        return _buyers[drawId][i];
    }

    function _first(bytes memory data) private pure returns (uint256 word) {
        assembly {
            word := mload(add(data, 32))
        }
    }

    /// @dev The number is the last word of every event.
    function _last(bytes memory data) private pure returns (uint64 word) {
        assembly {
            word := mload(add(data, mload(data)))
        }
    }

    function _fail(string memory reason) private {
        if (bytes(fault).length == 0) fault = reason;
    }
}
