// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A hostile token, for tests
/// @notice During a transfer or a permit it calls back as an account of its own, or keeps a fee.
contract ReentrantToken is ERC20("Hostile", "HOST") {
    address private _target;
    bytes private _data;

    /// @notice What the last call back failed with; zero if it went through.
    bytes4 public caught;
    bool public calledBack;
    uint256 public fee;

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function setFee(uint256 fee_) external {
        fee = fee_;
    }

    /// @notice The next transfer makes this call and goes on even if it fails.
    function arm(address target, bytes calldata data) external {
        (_target, _data, calledBack, caught) = (target, data, false, 0);
    }

    /// @notice Allows nothing, and makes the call too.
    function permit(address, address, uint256, uint256, uint8, bytes32, bytes32) external {
        _callBack();
    }

    /// @notice Makes a call as this contract.
    function act(address target, bytes calldata data) external {
        (bool ok, bytes memory result) = target.call(data);
        if (!ok) {
            assembly {
                revert(add(result, 32), mload(result))
            }
        }
    }

    function _update(address from, address to, uint256 value) internal override {
        bool transfer = from != address(0) && to != address(0);
        if (transfer && fee > 0) {
            super._update(from, address(0), fee);
            value -= fee;
        }
        super._update(from, to, value);
        if (transfer) _callBack();
    }

    function _callBack() private {
        if (_target == address(0)) return;
        address target = _target;
        _target = address(0);
        (bool ok, bytes memory result) = target.call(_data);
        calledBack = true;
        caught = ok ? bytes4(0) : bytes4(result);
    }
}
