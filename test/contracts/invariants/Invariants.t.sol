// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {LotteryPool} from "contracts/LotteryPool.sol";
import {SavingsPool} from "contracts/SavingsPool.sol";
import {TestToken} from "contracts/TestToken.sol";
import {Handler} from "./Handler.sol";
import {Model} from "./Model.sol";

/// @title What holds after every sequence of calls
abstract contract Invariants {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    Handler private _handler;
    LotteryPool private _pool;
    TestToken private _token;
    Model private _model;
    bytes16[2] private _ids;
    address[] private _accounts;

    function setUp() external {
        _handler = new Handler();
        (_pool, _token, _model) = (_handler.pool(), _handler.token(), _handler.model());
        _ids = [_handler.ids(0), _handler.ids(1)];
        for (uint256 i; i < _handler.size(); ++i) _accounts.push(_handler.accounts(i));
    }

    /// @dev Forge's, and the next: what it calls, at random.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), _calls());
    }

    /// @dev One function, so that each sequence is held against everything.
    function invariant() external view {
        _callsSucceedAndFailAsTheyMust();
        _eventsBreakNoRuleAndHaveNumbersWithoutGaps();
        _theContractHoldsWhatItOwes();
        _tokensMovedAsTheEventsSay();
        _balancesAreThoseOfTheEvents();
        _weightsAreThoseOfTheEvents();
        _yieldIsSharedByWeightAndNeverMoreThanPaidIn();
        _compoundersAreThoseWhoSaidSo();
        _drawsAreThoseOfTheEvents();
        _gasIsBounded();
    }

    function _calls() internal pure virtual returns (bytes4[] memory);

    function _callsSucceedAndFailAsTheyMust() private view {
        _same(_handler.fault(), "");
    }

    function _eventsBreakNoRuleAndHaveNumbersWithoutGaps() private view {
        _same(_model.fault(), "");
        require(_model.seq() == _pool.seq(), "seq is not that of the last event");
    }

    function _theContractHoldsWhatItOwes() private view {
        uint256 owed;
        for (uint256 p; p < _ids.length; ++p) {
            for (uint256 i; i < _accounts.length; ++i) {
                owed += _pool.balanceOf(_ids[p], _accounts[i]) + _pool.claimableOf(_ids[p], _accounts[i]);
            }
        }
        for (uint64 id = 1; id <= _pool.currentDraw(); ++id) {
            LotteryPool.Draw memory draw = _pool.drawOf(id);
            if (draw.status != LotteryPool.Status.CANCELLED && !draw.paid) owed += draw.prize;
            for (uint256 i; i < _accounts.length; ++i) owed += _pool.refundableOf(id, _accounts[i]);
        }
        require(_token.balanceOf(address(_pool)) >= owed, "the contract owes more than it holds");
    }

    function _tokensMovedAsTheEventsSay() private view {
        uint256 held = _token.totalSupply();
        for (uint256 i; i < _accounts.length; ++i) {
            uint256 has = _token.balanceOf(_accounts[i]) + _handler.donatedBy(_accounts[i]);
            require(int256(has) == int256(_handler.supplyOf(i)) + _model.flow(_accounts[i]), "an account's tokens");
            held -= _token.balanceOf(_accounts[i]);
        }
        require(_token.balanceOf(address(_pool)) == held, "the contract's tokens");
    }

    function _balancesAreThoseOfTheEvents() private view {
        for (uint256 p; p < _ids.length; ++p) {
            uint256 sum;
            for (uint256 i; i < _accounts.length; ++i) {
                uint256 balance = _pool.balanceOf(_ids[p], _accounts[i]);
                (uint256 expected,,,,,) = _model.savers(_ids[p], _accounts[i]);
                require(balance == expected, "a balance");
                sum += balance;
            }
            require(_pool.totalOf(_ids[p]) == sum, "the total is not the sum of the balances");
        }
    }

    function _weightsAreThoseOfTheEvents() private view {
        for (uint256 p; p < _ids.length; ++p) {
            uint256 sum;
            for (uint256 i; i < _accounts.length; ++i) {
                uint256 weight = _pool.weightOf(_ids[p], _accounts[i]);
                require(weight == _model.weightOf(_ids[p], _accounts[i]), "a weight");
                sum += weight;
            }
            require(_pool.totalWeightOf(_ids[p]) == sum, "the pool's weight is not the sum of the weights");
        }
    }

    function _yieldIsSharedByWeightAndNeverMoreThanPaidIn() private view {
        for (uint256 p; p < _ids.length; ++p) {
            (, uint256 accrued, uint256 claimed, uint256 lost) = _model.pools(_ids[p]);
            for (uint256 i; i < _accounts.length; ++i) {
                (,,, uint256 low, uint256 high, uint256 taken) = _model.savers(_ids[p], _accounts[i]);
                uint256 claimable = _pool.claimableOf(_ids[p], _accounts[i]);
                claimed += claimable;
                require(taken + claimable <= high, "more yield than a share");
                require(taken + claimable + lost >= low, "less yield than a share");
            }
            require(claimed <= accrued, "more yield than was paid in");
        }
    }

    function _compoundersAreThoseWhoSaidSo() private view {
        (SavingsPool.Compounder[] memory found, uint256[] memory amounts) = _pool.compounders(0, 1000);
        uint256 expected;
        for (uint256 p; p < _ids.length; ++p) {
            for (uint256 i; i < _accounts.length; ++i) {
                bool compounds = _model.compounds(_ids[p], _accounts[i]);
                require(_pool.isCompounding(_ids[p], _accounts[i]) == compounds, "whether an account compounds");
                if (!compounds) continue;
                ++expected;
                uint256 times;
                for (uint256 k; k < found.length; ++k) {
                    if (found[k].poolId != _ids[p] || found[k].account != _accounts[i]) continue;
                    require(amounts[k] == _pool.compoundableOf(_ids[p], _accounts[i]), "an amount in the list");
                    ++times;
                }
                require(times == 1, "an account is not in the list, or there twice");
            }
        }
        require(found.length == expected, "the list has others");
    }

    function _drawsAreThoseOfTheEvents() private view {
        require(_pool.currentDraw() == _model.draws(), "the number of draws");
        for (uint64 id = 1; id <= _pool.currentDraw(); ++id) {
            LotteryPool.Draw memory draw = _pool.drawOf(id);
            Model.Draw memory expected = _model.drawOf(id);
            require(draw.status == expected.status, "a draw's status");
            require(draw.ticketPrice == expected.ticketPrice && draw.drawTime == expected.drawTime, "a draw's terms");
            require(draw.tickets == expected.tickets && draw.prize == expected.prize, "a draw's tickets or prize");
            require(draw.winner == expected.winner && draw.paid == expected.paid, "a draw's winner");
            bool cancelled = draw.status == LotteryPool.Status.CANCELLED;
            uint256 paidIn = expected.refunded;
            for (uint256 i; i < _accounts.length; ++i) {
                require(_pool.ticketsOf(id, _accounts[i]) == _model.ticketsOf(id, _accounts[i]), "tickets");
                uint256 refundable = cancelled ? _model.paidIn(id, _accounts[i]) : 0;
                require(_pool.refundableOf(id, _accounts[i]) == refundable, "a refund");
                paidIn += _model.paidIn(id, _accounts[i]);
            }
            require(paidIn == expected.prize, "refunds and what is left of them are not what was paid in");
        }
    }

    function _gasIsBounded() private view {
        _below(_pool.deposit.selector, 160_000);
        _below(_pool.depositMany.selector, 250_000);
        _below(_pool.withdraw.selector, 120_000);
        _below(_pool.claimYield.selector, 120_000);
        _below(_pool.accrueYield.selector, 160_000);
        _below(_pool.startCompounding.selector, 150_000);
        _below(_pool.stopCompounding.selector, 60_000);
        _below(_pool.compound.selector, 300_000);
        _below(_pool.openDraw.selector, 130_000);
        _below(_pool.buyTickets.selector, 190_000);
        _below(_pool.fundPrize.selector, 100_000);
        _below(_pool.closeDraw.selector, 60_000);
        _below(_pool.completeDraw.selector, 90_000);
        _below(_pool.cancelDraw.selector, 40_000);
        _below(_pool.claimPrize.selector, 70_000);
        _below(_pool.claimPrizeTo.selector, 70_000);
        _below(_pool.refund.selector, 70_000);
    }

    /// @dev Forge's: after each sequence.
    function afterInvariant() external {
        _handler.takeAll();
        _same(_handler.fault(), "");
        _same(_model.fault(), "");
        uint256 remainders;
        for (uint256 p; p < _ids.length; ++p) {
            (, uint256 accrued, uint256 claimed, uint256 lost) = _model.pools(_ids[p]);
            remainders += accrued - claimed;
            require(accrued - claimed <= lost * _accounts.length, "yield that nobody can claim");
        }
        require(_token.balanceOf(address(_pool)) == remainders + _handler.donated(), "money that nobody can take out");
    }

    function _below(bytes4 selector, uint256 most) private view {
        require(_handler.gasOf(selector) <= most, "a call costs too much gas");
    }

    function _same(string memory found, string memory expected) private pure {
        require(keccak256(bytes(found)) == keccak256(bytes(expected)), found);
    }
}

contract SavingsTest is Invariants {
    function _calls() internal pure override returns (bytes4[] memory selectors) {
        selectors = new bytes4[](12);
        (selectors[0], selectors[1]) = (Handler.deposit.selector, Handler.depositMany.selector);
        (selectors[2], selectors[3]) = (Handler.withdraw.selector, Handler.withdrawTooMuch.selector);
        (selectors[4], selectors[5]) = (Handler.claim.selector, Handler.accrue.selector);
        (selectors[6], selectors[7]) = (Handler.wait.selector, Handler.donate.selector);
        (selectors[8], selectors[9]) = (Handler.depositTwice.selector, Handler.compound.selector);
        (selectors[10], selectors[11]) = (Handler.startCompounding.selector, Handler.stopCompounding.selector);
    }
}

contract LotteryTest is Invariants {
    function _calls() internal pure override returns (bytes4[] memory selectors) {
        selectors = new bytes4[](15);
        (selectors[0], selectors[1]) = (Handler.openDraw.selector, Handler.buy.selector);
        (selectors[2], selectors[3]) = (Handler.buyMany.selector, Handler.fund.selector);
        (selectors[4], selectors[5]) = (Handler.close.selector, Handler.complete.selector);
        (selectors[6], selectors[7]) = (Handler.cancel.selector, Handler.claimPrize.selector);
        (selectors[8], selectors[9]) = (Handler.refund.selector, Handler.waitForDraw.selector);
        (selectors[10], selectors[11]) = (Handler.deposit.selector, Handler.withdraw.selector);
        (selectors[12], selectors[13]) = (Handler.handOver.selector, Handler.accept.selector);
        selectors[14] = Handler.claimPrizeTo.selector;
    }
}
