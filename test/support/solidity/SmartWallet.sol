// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// The smallest EIP-1271 wallet: what its owner signed is what it signed.
contract SmartWallet {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(
            hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64])
        );
        return signer != address(0) && signer == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// As a Safe whose owners approve a message on the chain: its signature is empty.
contract ApprovingWallet {
    mapping(bytes32 => bool) private approved;

    function approve(bytes32 hash) external {
        approved[hash] = true;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        require(signature.length == 0 && approved[hash], "not approved");
        return this.isValidSignature.selector;
    }
}

/// Makes wallets at addresses that are known before (ERC-6492).
contract SmartWalletFactory {
    function deploy(address owner) external returns (address) {
        return address(new SmartWallet{salt: bytes32(0)}(owner));
    }
}
