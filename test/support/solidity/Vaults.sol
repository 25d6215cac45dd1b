// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// OpenZeppelin's, with as many more decimals for its shares as the test wants.
contract PlainVault is ERC4626 {
    uint8 private immutable offset;
    /// A recipient other than zero gets a tenth of the shares of each deposit; as many are minted for the vault itself.
    address public feeTo;

    constructor(IERC20 asset_, uint8 offset_) ERC20("Vault", "VLT") ERC4626(asset_) {
        offset = offset_;
    }

    function takeFees(address to) external {
        feeTo = to;
    }

    /// Burns shares of the caller, and all that the vault itself has, for nothing.
    function giveUp(uint256 shares) external {
        _burn(msg.sender, shares);
        _burn(address(this), balanceOf(address(this)));
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        if (feeTo != address(0)) {
            _mint(feeTo, shares / 10);
            _mint(address(this), shares / 10);
        }
        super._deposit(caller, receiver, assets, shares);
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return offset;
    }
}

/// Takes no more than 100 at once.
contract LimitedVault is PlainVault {
    constructor(IERC20 asset_) PlainVault(asset_, 0) {}

    function maxDeposit(address) public pure override returns (uint256) {
        return 100;
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
