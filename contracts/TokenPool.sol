// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @title What all these contracts share: one ERC-20 token, and events that are numbered
/// @dev Tokens that take a fee on transfer are refused; rebasing tokens, and tokens with a supply of 2^128 units or
/// more, must not be used. The guard needs transient storage (EIP-1153, Cancun).
abstract contract TokenPool is ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    IERC20 public immutable token;

    /// @notice Smallest amount that is paid in, in token units. What it applies to, each contract says.
    uint256 public immutable minimumDeposit;

    /// @notice Number of the last event. Events count from 1 without gaps, so a reader sees when one is missing.
    uint64 public seq;

    error ZeroAmount();
    error BelowMinimum(uint256 minimum);
    error UnsupportedToken();

    constructor(IERC20 token_, uint256 minimumDeposit_) {
        token = token_;
        minimumDeposit = minimumDeposit_;
    }

    function _requireMinimum(uint256 amount) internal view {
        if (amount < minimumDeposit) revert BelowMinimum(minimumDeposit);
    }

    /// @dev Uses the caller's signed allowance, before anything is booked. A permit can be used by whoever sees it in the
    /// mempool, and then fails here, though the allowance is there. So its failure counts for nothing: `_pull` decides.
    /// The token is only ever asked about the caller, so tokens that ignore unknown calls do no harm either.
    function _permit(uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) internal {
        try IERC20Permit(address(token)).permit(msg.sender, address(this), amount, deadline, v, r, s) {} catch {}
    }

    /// @dev Takes exactly `amount` from the caller. Comes last in every function, after balances are booked.
    function _pull(uint256 amount) internal {
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        if (token.balanceOf(address(this)) - before != amount) revert UnsupportedToken();
    }

    /// @dev Every event of a contract takes exactly one number.
    function _nextSeq() internal returns (uint64) {
        return ++seq;
    }
}
