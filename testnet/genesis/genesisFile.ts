import type { Hex } from '../../src/lib/hex.ts'

/** An account of a genesis file's `alloc`, in geth's JSON shape. */
export interface GenesisAccount {
  balance: Hex
  nonce?: Hex
  code?: Hex
  /** 32-byte slots to 32-byte values. */
  storage?: Record<Hex, Hex>
}
/** Accounts by lower-case address. */
export type GenesisAlloc = Record<Hex, GenesisAccount>

/** A genesis file in geth's JSON form. */
export interface GenesisFile {
  config: Record<string, unknown>
  nonce: Hex
  timestamp: Hex
  extraData: Hex
  gasLimit: Hex
  difficulty: Hex
  mixHash: Hex
  coinbase: Hex
  number: Hex
  gasUsed: Hex
  parentHash: Hex
  baseFeePerGas: Hex
  excessBlobGas: Hex
  blobGasUsed: Hex
  alloc: GenesisAlloc
}
