// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title Play money for development
/// @notice Anyone mints any amount, so it is worth nothing and must stay off real networks. 18 decimals.
contract TestToken is ERC20("Test Token", "TEST") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
