// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {RotatingPool} from "contracts/RotatingPool.sol";

/// @title The rules of circles, in the plainest words
/// @notice Every sum that is somebody's stands here by itself, and moves from one place to another. Each function says
/// whether the call must go through, and if so does what it must do.
contract CircleModel {
    struct Terms {
        address organiser;
        uint256 contribution;
        uint256 collateral;
        uint256 period;
        uint256 joinBy;
        address[] members;
    }

    struct Purse {
        bool joined;
        uint256 collateral;
        /// Of the round that is under way.
        uint256 contribution;
        uint256 payout;
        uint256 refund;
    }

    uint256 public immutable minimum;
    Terms[] private _terms;
    mapping(uint64 id => RotatingPool.Status) public status;
    mapping(uint64 id => uint256) public round;
    mapping(uint64 id => uint256) public roundEnd;
    mapping(uint64 id => mapping(address account => Purse)) private _purses;

    constructor(uint256 minimum_) {
        minimum = minimum_;
    }

    function circles() external view returns (uint64) {
        return uint64(_terms.length);
    }

    function termsOf(uint64 id) public view returns (Terms memory terms) {
        if (id > 0 && id <= _terms.length) terms = _terms[id - 1];
    }

    function purseOf(uint64 id, address account) external view returns (Purse memory) {
        return _purses[id][account];
    }

    function heldFor(uint64 id, address account) public view returns (uint256) {
        Purse memory purse = _purses[id][account];
        return purse.collateral + purse.contribution + purse.payout + purse.refund;
    }

    function open(Terms memory terms) external returns (bool) {
        if (terms.contribution < minimum || terms.period < 1 hours || terms.period > 366 days) return false;
        if (terms.joinBy <= block.timestamp || terms.joinBy > block.timestamp + 366 days) return false;
        if (terms.members.length < 2 || terms.members.length > 32) return false;
        for (uint256 i; i < terms.members.length; ++i) {
            if (terms.members[i] == address(0)) return false;
            for (uint256 k; k < i; ++k) if (terms.members[i] == terms.members[k]) return false;
        }
        _terms.push(terms);
        status[uint64(_terms.length)] = RotatingPool.Status.JOINING;
        return true;
    }

    function join(uint64 id, address account) external returns (bool) {
        Terms memory terms = termsOf(id);
        if (status[id] != RotatingPool.Status.JOINING || block.timestamp > terms.joinBy) return false;
        if (!_isMember(terms, account) || _purses[id][account].joined) return false;
        _purses[id][account].joined = true;
        _purses[id][account].collateral = terms.collateral;
        for (uint256 i; i < terms.members.length; ++i) if (!_purses[id][terms.members[i]].joined) return true;
        status[id] = RotatingPool.Status.RUNNING;
        roundEnd[id] = block.timestamp + terms.period;
        return true;
    }

    function contribute(uint64 id, address account) external returns (bool) {
        Terms memory terms = termsOf(id);
        if (status[id] != RotatingPool.Status.RUNNING || block.timestamp >= roundEnd[id]) return false;
        if (!_isMember(terms, account) || _purses[id][account].contribution > 0) return false;
        _purses[id][account].contribution = terms.contribution;
        return true;
    }

    function isRoundOver(uint64 id) public view returns (bool) {
        if (status[id] != RotatingPool.Status.RUNNING) return false;
        if (block.timestamp >= roundEnd[id]) return true;
        address[] memory members = termsOf(id).members;
        for (uint256 i; i < members.length; ++i) if (_purses[id][members[i]].contribution == 0) return false;
        return true;
    }

    function endRound(uint64 id) external returns (bool) {
        if (!isRoundOver(id)) return false;
        Terms memory terms = termsOf(id);
        for (uint256 i; i < terms.members.length; ++i) {
            Purse memory purse = _purses[id][terms.members[i]];
            if (purse.contribution + purse.collateral < terms.contribution) return _giveBack(id, true);
        }
        for (uint256 i; i < terms.members.length; ++i) {
            Purse storage purse = _purses[id][terms.members[i]];
            if (purse.contribution == 0) purse.collateral -= terms.contribution;
            purse.contribution = 0;
            _purses[id][terms.members[round[id]]].payout += terms.contribution;
        }
        roundEnd[id] = block.timestamp + terms.period;
        return ++round[id] < terms.members.length || _giveBack(id, false);
    }

    function isCancellable(uint64 id, address account) public view returns (bool) {
        Terms memory terms = termsOf(id);
        if (status[id] != RotatingPool.Status.JOINING) return false;
        return account == terms.organiser || block.timestamp > terms.joinBy;
    }

    function cancel(uint64 id, address account) external returns (bool) {
        return isCancellable(id, account) && _giveBack(id, true);
    }

    function claimPayout(uint64 id, address account) external returns (bool due) {
        due = _purses[id][account].payout > 0;
        _purses[id][account].payout = 0;
    }

    function claimRefund(uint64 id, address account) external returns (bool due) {
        due = _purses[id][account].refund > 0;
        _purses[id][account].refund = 0;
    }

    function _giveBack(uint64 id, bool isCancelled) private returns (bool) {
        address[] memory members = termsOf(id).members;
        for (uint256 i; i < members.length; ++i) {
            Purse storage purse = _purses[id][members[i]];
            purse.refund = purse.collateral + purse.contribution;
            (purse.collateral, purse.contribution) = (0, 0);
        }
        status[id] = isCancelled ? RotatingPool.Status.CANCELLED : RotatingPool.Status.COMPLETED;
        return true;
    }

    function _isMember(Terms memory terms, address account) private pure returns (bool) {
        for (uint256 i; i < terms.members.length; ++i) if (terms.members[i] == account) return true;
        return false;
    }
}
