// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {LotteryPool} from "../../../contracts/LotteryPool.sol";

/// @title Makes as many events as it can for its gas, for tests
contract RowWriter {
    LotteryPool private immutable _pool;
    uint256 private immutable _least;

    constructor(LotteryPool pool) {
        _pool = pool;
        _least = pool.minimumDeposit();
        pool.token().approve(address(pool), type(uint256).max);
    }

    /// @notice The same money in and out, in one pool.
    function inAndOut(bytes16 id, uint256 times) external {
        for (uint256 i; i < times; ++i) {
            _pool.deposit(id, 0, _least);
            _pool.withdraw(id, 0, _least);
        }
    }

    function deposits(bytes16 id, uint256 times) external {
        for (uint256 i; i < times; ++i) _pool.deposit(id, 0, _least);
    }

    function withdrawals(bytes16 id, uint256 times) external {
        for (uint256 i; i < times; ++i) _pool.withdraw(id, 0, _least);
    }

    /// @notice Into pools that nobody has, with ids from `first` on.
    function inManyPools(uint128 first, uint256 times) external {
        bytes16[] memory ids = new bytes16[](times);
        uint256[] memory amounts = new uint256[](times);
        for (uint256 i; i < times; ++i) (ids[i], amounts[i]) = (bytes16(first + uint128(i)), _least);
        _pool.depositMany(ids, new bytes16[](times), amounts);
    }

    /// @notice Two events each.
    function tickets(uint64 drawId, uint256 times) external {
        for (uint256 i; i < times; ++i) _pool.buyTickets(drawId, 1);
    }

    function gifts(uint64 drawId, uint256 times) external {
        for (uint256 i; i < times; ++i) _pool.fundPrize(drawId, _least);
    }
}
