// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title Play money for development
/// @notice Anyone mints any amount, so it is worth nothing and must stay off real networks. 18 decimals.
/// Allowances can be signed (EIP-2612), so that a payment takes one transaction.
contract TestToken is ERC20("Test Token", "TEST"), ERC20Permit("Test Token") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
