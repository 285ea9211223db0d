/**
 * Limits of the pool. Defaults are geth's (`core/txpool/legacypool`) for transactions sent by RPC, in slots of 32 KiB
 * where it says so.
 */
export interface TxPoolOptions {
  /** Least priority fee, in wei, for a transaction to be let in. */
  priceLimitWei: bigint
  /** Percent by which both fees of a replacement must exceed those of the transaction it replaces. */
  priceBumpPercent: bigint
  /** Slots for executable transactions of all senders. */
  globalSlots: number
  /** Slots for transactions behind a nonce gap, of all senders. */
  globalQueue: number
  /** Transactions behind a nonce gap that one sender may have. */
  accountQueue: number
  /** Time after which transactions behind a nonce gap are dropped. */
  lifetimeMs: number
  /** Least effective priority fee, in wei, for a transaction to be put into a block (`--miner.gasprice`). */
  minBlockTipWei: bigint
  /** Gas limit of blocks the node builds, when set lower than the header's (`--miner.effectivegaslimit`); 0 = none. */
  effectiveGasLimit: bigint
}

export const DEFAULT_TX_POOL_OPTIONS: Readonly<TxPoolOptions> = {
  priceLimitWei: 1n,
  priceBumpPercent: 10n,
  globalSlots: 5120,
  globalQueue: 1024,
  accountQueue: 64,
  lifetimeMs: 3 * 3_600_000,
  minBlockTipWei: 0n,
  effectiveGasLimit: 0n,
}

/** geth's txSlotSize and txMaxSize. */
export const TX_SLOT_BYTES = 32 * 1024
export const TX_MAX_BYTES = 4 * TX_SLOT_BYTES
