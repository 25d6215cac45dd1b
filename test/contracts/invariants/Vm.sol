// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev The few of forge's cheat codes that these tests need.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function prank(address sender) external;
    function warp(uint256 time) external;
    function roll(uint256 number) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function envBytes(string calldata name) external view returns (bytes memory);
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
