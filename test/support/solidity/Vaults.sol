// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// OpenZeppelin's, with as many more decimals for its shares as the test wants.
contract PlainVault is ERC4626 {
    uint8 private immutable offset;

    constructor(IERC20 asset_, uint8 offset_) ERC20("Vault", "VLT") ERC4626(asset_) {
        offset = offset_;
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return offset;
    }
}

/// Whose shares pass through it within one transaction.
contract Passage {
    /// Takes shares of the caller, sells half of them for the account, and gives it the others, of which it takes none back.
    function pass(PlainVault vault, uint256 shares, address account) external {
        vault.transferFrom(msg.sender, address(this), shares);
        vault.redeem(shares / 2, account, address(this));
        vault.transfer(account, shares - shares / 2);
    }
}
