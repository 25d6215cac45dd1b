// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title Savings pools over one ERC-20 token
/// @notice Holds any number of pools, told apart by their 16-byte id. What an account puts in a pool, that account
/// alone takes out again, whenever it wants. The owner's one power is to add yield, which it pays for itself.
/// @dev Yield goes to the balances of the moment it arrives, so a deposit made just before shares in it in full.
/// Tokens that take a fee on transfer are refused; rebasing tokens must not be used.
/// The guard needs transient storage (EIP-1153, Cancun).
contract SavingsPool is Ownable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    struct Pool {
        uint256 total;
        /// Yield for one token unit deposited since the beginning, times SCALE.
        uint256 yieldPerUnit;
    }

    struct Account {
        uint256 balance;
        /// The pool's yieldPerUnit up to which `owed` is settled.
        uint256 settledAt;
        uint256 owed;
    }

    /// @dev Large enough that rounding loses less than one token unit while a pool holds less than 2^128 of them.
    uint256 private constant SCALE = 2 ** 128;

    IERC20 public immutable token;

    /// @notice Number of the last event. Events count from 1 without gaps, so a reader sees when one is missing.
    uint64 public seq;

    mapping(bytes16 poolId => Pool) private _pools;
    mapping(bytes16 poolId => mapping(address account => Account)) private _accounts;

    event Deposited(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event Withdrawn(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event YieldClaimed(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq);

    error ZeroAmount();
    error LengthMismatch();
    error InsufficientBalance(uint256 balance, uint256 needed);
    error NothingToClaim();
    error NoDeposits();
    error UnsupportedToken();

    constructor(IERC20 token_, address owner_) Ownable(owner_) {
        token = token_;
    }

    /// @notice Puts `amount` of the caller's tokens in a pool.
    /// @param ref Caller's reference, repeated in the event; zero if none. It is public and proves nothing.
    function deposit(bytes16 poolId, bytes16 ref, uint256 amount) external nonReentrant {
        _credit(poolId, ref, amount);
        _pull(amount);
    }

    /// @notice The same as several deposits one after another, with a single token transfer.
    function depositMany(bytes16[] calldata poolIds, bytes16[] calldata refs, uint256[] calldata amounts)
        external
        nonReentrant
    {
        if (poolIds.length != refs.length || poolIds.length != amounts.length) revert LengthMismatch();
        uint256 sum;
        for (uint256 i; i < poolIds.length; ++i) {
            _credit(poolIds[i], refs[i], amounts[i]);
            sum += amounts[i];
        }
        _pull(sum);
    }

    /// @notice Takes out up to what the caller has in the pool. Yield stays claimable.
    function withdraw(bytes16 poolId, bytes16 ref, uint256 amount) external nonReentrant {
        if (amount == 0) revert ZeroAmount();
        Account storage account = _settle(poolId, msg.sender);
        uint256 balance = account.balance;
        if (amount > balance) revert InsufficientBalance(balance, amount);
        account.balance = balance - amount;
        _pools[poolId].total -= amount;
        emit Withdrawn(poolId, ref, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice Pays the caller all the yield it has earned in the pool.
    function claimYield(bytes16 poolId, bytes16 ref) external nonReentrant {
        Account storage account = _settle(poolId, msg.sender);
        uint256 amount = account.owed;
        if (amount == 0) revert NothingToClaim();
        account.owed = 0;
        emit YieldClaimed(poolId, ref, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice Adds yield, paid by the owner, for the accounts in the pool in proportion to their balances.
    /// @dev Shares round down: the remainder, a few token units, stays in the contract for good.
    /// @param aprBps The yearly rate the owner states, in hundredths of a percent. Nothing here checks it.
    function accrueYield(bytes16 poolId, uint256 amount, uint32 aprBps) external onlyOwner nonReentrant {
        if (amount == 0) revert ZeroAmount();
        Pool storage pool = _pools[poolId];
        if (pool.total == 0) revert NoDeposits();
        pool.yieldPerUnit += Math.mulDiv(amount, SCALE, pool.total);
        emit YieldAccrued(poolId, amount, aprBps, _nextSeq());
        _pull(amount);
    }

    /// @notice Tokens all accounts together have in the pool, yield not counted.
    function totalOf(bytes16 poolId) external view returns (uint256) {
        return _pools[poolId].total;
    }

    /// @notice Tokens an account can withdraw from the pool.
    function balanceOf(bytes16 poolId, address account) external view returns (uint256) {
        return _accounts[poolId][account].balance;
    }

    /// @notice Yield an account can claim from the pool.
    function claimableOf(bytes16 poolId, address account) external view returns (uint256) {
        return _owed(_accounts[poolId][account], _pools[poolId].yieldPerUnit);
    }

    function _credit(bytes16 poolId, bytes16 ref, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        _settle(poolId, msg.sender).balance += amount;
        _pools[poolId].total += amount;
        emit Deposited(poolId, ref, msg.sender, amount, _nextSeq());
    }

    /// @dev Must run before a balance changes: yield up to now belongs to the balance up to now.
    function _settle(bytes16 poolId, address holder) private returns (Account storage account) {
        account = _accounts[poolId][holder];
        uint256 yieldPerUnit = _pools[poolId].yieldPerUnit;
        if (account.settledAt != yieldPerUnit) {
            account.owed = _owed(account, yieldPerUnit);
            account.settledAt = yieldPerUnit;
        }
    }

    function _owed(Account storage account, uint256 yieldPerUnit) private view returns (uint256) {
        return account.owed + Math.mulDiv(account.balance, yieldPerUnit - account.settledAt, SCALE);
    }

    /// @dev Takes exactly `amount` from the caller. Last in every function: balances are booked before.
    function _pull(uint256 amount) internal {
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        if (token.balanceOf(address(this)) - before != amount) revert UnsupportedToken();
    }

    /// @dev Every event of this contract and of those that extend it takes exactly one.
    function _nextSeq() internal returns (uint64) {
        return ++seq;
    }
}
