/**
 * Limits of the pool. Defaults are geth's (`core/txpool/legacypool`) for transactions sent by RPC. A slot is 32 KiB.
 */
export interface TxPoolOptions {
  /** Lowest priority fee, in wei, of an accepted transaction. */
  priceLimitWei: bigint
  /** Percent by which both fees of a replacement must exceed those of the replaced transaction. */
  priceBumpPercent: bigint
  /** Slots for executable transactions of all senders. */
  globalSlots: number
  /** Slots for transactions after a nonce gap, of all senders. */
  globalQueue: number
  /** Most transactions of one sender after a nonce gap. */
  accountQueue: number
  /** Time after which transactions after a nonce gap are dropped. */
  lifetimeMs: number
  /** Lowest effective priority fee, in wei, of a transaction in a block (`--miner.gasprice`). */
  minBlockTipWei: bigint
  /** Gas limit of blocks built here, if lower than the header's (`--miner.effectivegaslimit`); 0 = none. */
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
