import { expect, it } from 'vitest'
import { fromHex } from '../../lib/hex.ts'
import { createAddress } from './createAddress.ts'

it("computes the addresses of a known account's first contracts", () => {
  // Hardhat's and Anvil's first account deploys here.
  const sender = fromHex('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
  expect(createAddress(sender, 0n)).toBe('0x5fbdb2315678afecb367f032d93f642f64180aa3')
  expect(createAddress(sender, 1n)).toBe('0xe7f1725e7734ce288f8367e1bb143e90bb3f0512')
})
