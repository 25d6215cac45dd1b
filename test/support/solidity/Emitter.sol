// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Emits whatever it is told to, numbered as the reference contracts do it: events that no honest contract emits.
contract Emitter {
    uint64 public seq;

    event Deposited(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event Withdrawn(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );

    function deposited(bytes16 poolId, bytes16 ref, address account, uint256 amount) external {
        emit Deposited(poolId, ref, account, amount, ++seq);
    }

    function withdrawn(bytes16 poolId, bytes16 ref, address account, uint256 amount) external {
        emit Withdrawn(poolId, ref, account, amount, ++seq);
    }
}

/// A wallet that is a contract: whoever sends the transaction, the wallet is who acts.
contract ContractWallet {
    function execute(address to, bytes calldata data) external {
        (bool done,) = to.call(data);
        require(done, "refused");
    }
}
