import { getAddress } from 'viem'
import { optimism } from 'viem/chains'
import { expect, it } from 'vitest'
import { roles } from '../accounts.ts'
import { l1Addresses } from '../l1/contracts.ts'
import { addressBook } from './addresses.ts'

const node = {
  name: 'sequencer',
  rollupRpc: '',
  engineRpc: '',
  metrics: '',
  gethMetrics: '',
  p2p: '',
  peerId: '',
  jwt: '',
}
const book = addressBook({
  l1: {
    rpc: 'http://127.0.0.1:9500',
    beacon: 'http://127.0.0.1:9504',
    chainId: 900,
    blockTime: 2,
    contracts: l1Addresses(roles.owner.address),
  },
  l2: { chainId: 901, blockTime: 1, genesisTime: 1_700_000_000, forks: { genesis: 'karst', later: [] } },
  nodes: [{ ...node, ethRpc: 'http://127.0.0.1:9511', ethWs: 'ws://127.0.0.1:9511' }],
})

it('names chains, RPCs and contracts, with checksums', () => {
  expect(book).toMatchObject({
    l1: { chainId: 900, rpc: 'http://127.0.0.1:9500', batchInbox: '0xFf00000000000000000000000000000000000901' },
    l2: { chainId: 901, rpc: 'http://127.0.0.1:9511', ws: 'ws://127.0.0.1:9511' },
  })
  const { l1, l2 } = book
  const addresses = [l1.contracts, l2.contracts, book.roles].flatMap((named) => Object.values(named))
  expect(addresses.length).toBeGreaterThan(30)
  expect(addresses).toEqual(addresses.map((address) => getAddress(address)))
  expect(Object.keys(l1.contracts)).toEqual(
    expect.arrayContaining([
      'OptimismPortal',
      'L1StandardBridge',
      'L1CrossDomainMessenger',
      'L2OutputOracle',
      'SystemConfig',
    ]),
  )
})

it("has the predeploys at the addresses of viem's OP Stack chains", () => {
  const { contracts } = book.l2
  expect(contracts).toMatchObject({
    L2CrossDomainMessenger: optimism.contracts.l2CrossDomainMessenger.address,
    L2StandardBridge: optimism.contracts.l2StandardBridge.address,
    L2ToL1MessagePasser: optimism.contracts.l2ToL1MessagePasser.address,
    L1Block: optimism.contracts.l1Block.address,
    GasPriceOracle: optimism.contracts.gasPriceOracle.address,
    WETH: '0x4200000000000000000000000000000000000006',
  })
})
