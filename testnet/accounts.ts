import { keccak256 } from '../src/lib/hash.ts'
import { type Hex, toHex } from '../src/lib/hex.ts'
import { privateKeyToAddress } from '../src/lib/secp256k1.ts'

export interface Account {
  name: string
  address: Hex
  privateKey: Hex
}

/**
 * The ten accounts of the mnemonic "test test test test test test test test test test test junk". Anvil, Hardhat and wallets in
 * development mode know them. They are funded on L1 and L2. The testnet uses none of them, so only the user changes their nonces.
 */
export const devAccounts: readonly Account[] = [
  account('alice', '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'),
  account('bob', '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'),
  account('carol', '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'),
  account('dave', '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'),
  account('erin', '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a'),
  account('frank', '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'),
  account('grace', '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e'),
  account('heidi', '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356'),
  account('ivan', '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97'),
  account('judy', '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6'),
]

/** 10,000 ETH: the amount that Anvil gives each account on L1. */
export const DEV_ACCOUNT_BALANCE_WEI = 10_000n * 10n ** 18n

/**
 * The keys of the chain's operators. Each key follows from the role's name, so contract addresses are the same on every testnet.
 * Never send anything of value to them.
 */
export const roles = {
  /** Deploys the contracts and owns them. */
  owner: roleAccount('owner'),
  /** Posts batches to L1. */
  batcher: roleAccount('batcher'),
  /** Signs the blocks that the sequencer gossips. */
  sequencer: roleAccount('sequencer'),
  /** May post output roots to L2OutputOracle. */
  proposer: roleAccount('proposer'),
  /** May delete output roots. */
  challenger: roleAccount('challenger'),
}

function roleAccount(role: string): Account {
  return account(role, toHex(keccak256(Buffer.from(`devium testnet ${role}`))))
}

function account(name: string, privateKey: Hex): Account {
  return { name, address: privateKeyToAddress(Buffer.from(privateKey.slice(2), 'hex')), privateKey }
}
