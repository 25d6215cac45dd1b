// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {RotatingPool} from "contracts/RotatingPool.sol";
import {TestToken} from "contracts/TestToken.sol";
import {CircleHandler} from "./CircleHandler.sol";
import {CircleModel} from "./CircleModel.sol";

/// @title What holds of circles after every sequence of calls
contract CirclesTest {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    CircleHandler private _handler;
    RotatingPool private _pool;
    TestToken private _token;
    CircleModel private _model;
    address[] private _accounts;

    function setUp() external {
        _handler = new CircleHandler();
        (_pool, _token, _model) = (_handler.pool(), _handler.token(), _handler.model());
        for (uint256 i; i < _handler.size(); ++i) _accounts.push(_handler.accounts(i));
    }

    /// @dev Forge's, and the next: what it calls, at random.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[] memory calls = new bytes4[](12);
        (calls[0], calls[1]) = (CircleHandler.open.selector, CircleHandler.join.selector);
        (calls[2], calls[3]) = (CircleHandler.joinAll.selector, CircleHandler.contribute.selector);
        (calls[4], calls[5]) = (CircleHandler.contributeAll.selector, CircleHandler.end.selector);
        (calls[6], calls[7]) = (CircleHandler.cancel.selector, CircleHandler.claimPayout.selector);
        (calls[8], calls[9]) = (CircleHandler.claimRefund.selector, CircleHandler.wait.selector);
        (calls[10], calls[11]) = (CircleHandler.waitForCircle.selector, CircleHandler.donate.selector);
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), calls);
    }

    /// @dev One function, so that each sequence is held against everything.
    function invariant() external view {
        _same(_handler.fault(), "");
        require(_handler.seq() == _pool.seq(), "seq is not that of the last event");
        require(_pool.circles() == _model.circles(), "the number of circles");
        _theContractHoldsExactlyWhatItOwes();
        _tokensMovedAsTheEventsSay();
        _circlesAreThoseOfTheModel();
        _theListHasTheActiveOnes();
        _gasIsBounded();
    }

    /// @dev Forge's: after each sequence.
    function afterInvariant() external {
        _handler.takeAll();
        _same(_handler.fault(), "");
        require(_token.balanceOf(address(_pool)) == _handler.donated(), "money that nobody can take out");
        require(_pool.activeCount() == 0, "an active circle that is over");
    }

    function _theContractHoldsExactlyWhatItOwes() private view {
        uint256 owed = _handler.donated();
        for (uint64 id = 1; id <= _pool.circles(); ++id) {
            uint256 sum;
            for (uint256 i; i < _accounts.length; ++i) sum += _model.heldFor(id, _accounts[i]);
            require(_pool.totalOf(id) == sum, "a circle's total");
            owed += sum;
        }
        require(_token.balanceOf(address(_pool)) == owed, "the contract does not hold what it owes");
    }

    function _tokensMovedAsTheEventsSay() private view {
        for (uint256 i; i < _accounts.length; ++i) {
            int256 has = int256(_token.balanceOf(_accounts[i]));
            require(has == int256(_handler.SUPPLY()) + _handler.flow(_accounts[i]), "an account's tokens");
        }
    }

    function _circlesAreThoseOfTheModel() private view {
        for (uint64 id = 1; id <= _pool.circles(); ++id) {
            RotatingPool.Circle memory circle = _pool.circleOf(id);
            require(circle.status == _model.status(id), "a circle's status");
            require(circle.round == _model.round(id), "a circle's round");
            if (circle.status == RotatingPool.Status.RUNNING) {
                require(circle.until == _model.roundEnd(id), "a round's end");
            }
            require(_pool.dueOf(id) == _due(id), "what is due");
            for (uint256 i; i < _accounts.length; ++i) {
                CircleModel.Purse memory purse = _model.purseOf(id, _accounts[i]);
                (uint256 payout, uint256 refund) = _pool.claimableOf(id, _accounts[i]);
                require(payout == purse.payout, "a payout");
                require(refund == purse.refund, "a refund");
                require(_pool.memberOf(id, _accounts[i]).joined == purse.joined, "who has joined");
            }
        }
    }

    function _due(uint64 id) private view returns (RotatingPool.Due) {
        if (_model.isCancellable(id, address(0))) return RotatingPool.Due.CANCEL;
        return _model.isRoundOver(id) ? RotatingPool.Due.END_ROUND : RotatingPool.Due.NOTHING;
    }

    function _theListHasTheActiveOnes() private view {
        uint256 count = _pool.activeCount();
        uint256 expected;
        for (uint64 id = 1; id <= _pool.circles(); ++id) {
            uint256 times;
            for (uint256 i; i < count; ++i) if (_pool.activeAt(i) == id) ++times;
            RotatingPool.Status status = _model.status(id);
            bool active = status == RotatingPool.Status.JOINING || status == RotatingPool.Status.RUNNING;
            require(times == (active ? 1 : 0), "a circle is not in the list, or wrongly");
            expected += times;
        }
        require(count == expected, "the list has others");
    }

    function _gasIsBounded() private view {
        _below(_pool.openCircle.selector, 450_000);
        _below(_pool.join.selector, 110_000);
        _below(_pool.contribute.selector, 100_000);
        _below(_pool.endRound.selector, 120_000);
        _below(_pool.cancelCircle.selector, 50_000);
        _below(_pool.claimPayout.selector, 80_000);
        _below(_pool.claimRefund.selector, 80_000);
    }

    function _below(bytes4 selector, uint256 most) private view {
        require(_handler.gasOf(selector) <= most, "a call costs too much gas");
    }

    function _same(string memory found, string memory expected) private pure {
        require(keccak256(bytes(found)) == keccak256(bytes(expected)), found);
    }
}
