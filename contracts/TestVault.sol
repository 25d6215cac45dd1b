// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title A vault for development
/// @notice OpenZeppelin's, as it is. Whatever its asset is sent to it, it has earned for those who have shares.
contract TestVault is ERC4626 {
    constructor(IERC20 asset_) ERC20("Test Vault", "vTEST") ERC4626(asset_) {}
}
