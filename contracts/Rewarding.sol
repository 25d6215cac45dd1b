// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title What the contracts of ForeignPools.sol do with money
/// @notice For development. Anyone may reward an account, and a tenth of each reward is a fee.
abstract contract Rewarding {
    using SafeERC20 for IERC20;

    IERC20 public immutable asset;
    address private immutable collector;

    constructor(IERC20 asset_) {
        asset = asset_;
        collector = msg.sender;
    }

    function _take(uint256 amount) internal {
        asset.safeTransferFrom(msg.sender, address(this), amount);
    }

    function _give(uint256 amount) internal {
        asset.safeTransfer(msg.sender, amount);
    }

    function _pay(uint256 reward) internal returns (uint256 amount, uint256 fee) {
        fee = reward / 10;
        amount = reward - fee;
        asset.safeTransfer(collector, fee);
        _give(amount);
    }
}
