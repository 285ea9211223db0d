import { afterEach, describe, expect, it } from 'vitest'
import { type ExecutionNode, startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { roles } from '../accounts.ts'
import { functionSelector } from '../contracts/abi.ts'
import { ArtifactStore, findContractsPackage } from '../contracts/artifact.ts'
import { forksAtGenesis, TESTNET_FORKS, type TestnetFork } from '../forks.ts'
import { l1Addresses } from '../l1/contracts.ts'
import { buildL2Genesis, type L2Genesis } from './l2Genesis.ts'
import { predeployAddress } from './predeploys.ts'

const store = new ArtifactStore(findContractsPackage())
const l1 = l1Addresses(roles.owner.address)
const genesisOf = (fork: TestnetFork): Promise<L2Genesis> =>
  buildL2Genesis(
    store,
    {
      l1ChainId: 900,
      l2ChainId: 901,
      blockTime: 1,
      l1BlockTime: 2,
      genesisTime: 1_700_000_000,
      forks: forksAtGenesis(fork),
    },
    l1,
  )
const word = (value: string | bigint) => `0x${BigInt(value).toString(16).padStart(64, '0')}`

const GAS_PRICE_ORACLE = predeployAddress(0x0f)
const L1_BLOCK = predeployAddress(0x15)
const OPERATOR_FEE_VAULT = predeployAddress(0x1b)
/** EIP-4788, EIP-2935. */
const BEACON_ROOTS = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const BLOCK_HASHES = '0x0000f90827f1c53a10cb7a02335b175320002935'

/** Contract versions that the published upgrades install. Earlier forks have the contracts package's versions. */
const VERSIONS: Record<TestnetFork, { oracle: string; l1Block: string }> = {
  ecotone: { oracle: '1.3.0', l1Block: '1.4.1-beta.1' },
  fjord: { oracle: '1.3.0', l1Block: '1.4.1-beta.1' },
  granite: { oracle: '1.3.0', l1Block: '1.4.1-beta.1' },
  holocene: { oracle: '1.3.0', l1Block: '1.4.1-beta.1' },
  isthmus: { oracle: '1.4.0', l1Block: '1.6.0' },
  jovian: { oracle: '1.6.0', l1Block: '1.7.0' },
  karst: { oracle: '1.6.0', l1Block: '1.9.0' },
  // The bundle of Lagoon applies to running chains only.
  lagoon: { oracle: '1.6.0', l1Block: '1.9.0' },
}

let node: ExecutionNode | undefined
afterEach(() => node?.close())

describe.each(TESTNET_FORKS)('a genesis with %s', (fork) => {
  const has = (wanted: TestnetFork) => TESTNET_FORKS.indexOf(fork) >= TESTNET_FORKS.indexOf(wanted)

  it("has the execution client's hash, and contracts as after the upgrades", async () => {
    const genesis = await genesisOf(fork)
    node = await startExecutionNode(genesis.file)
    const { eth } = node
    const block = await eth.request('eth_getBlockByNumber', ['0x0', false])
    expect(block).toMatchObject({ hash: genesis.hash })

    const call = (to: Hex, signature: string) =>
      eth.request('eth_call', [{ to, data: toHex(functionSelector(signature)) }, 'latest'])
    const text = async (to: Hex) => {
      const data = Buffer.from(String(await call(to, 'version()')).slice(2), 'hex')
      return data.subarray(64, 64 + data.readUInt32BE(60)).toString()
    }
    const { oracle, l1Block } = VERSIONS[fork]
    expect(await text(GAS_PRICE_ORACLE)).toBe(oracle)
    expect(await text(L1_BLOCK)).toBe(l1Block)
    for (const flag of ['ecotone', 'fjord', 'isthmus', 'jovian'] as const) {
      const name = `is${flag.slice(0, 1).toUpperCase()}${flag.slice(1)}()`
      if (has(flag)) expect(await call(GAS_PRICE_ORACLE, name), name).toBe(word(1n))
      else expect(await call(GAS_PRICE_ORACLE, name).catch(() => 'not known'), name).not.toBe(word(1n))
    }
    const codeOf = async (address: string) => String(await eth.request('eth_getCode', [address, 'latest']))
    expect((await codeOf(BEACON_ROOTS)).length).toBeGreaterThan(100)
    expect((await codeOf(BLOCK_HASHES)).length > 100).toBe(has('isthmus'))

    // The upgrades replace code but keep the chain's settings.
    expect(await call(predeployAddress(0x07), 'otherMessenger()')).toBe(word(l1.L1CrossDomainMessenger))
    expect(await call(predeployAddress(0x10), 'otherBridge()')).toBe(word(l1.L1StandardBridge))
    expect(await call(predeployAddress(0x17), 'REMOTE_CHAIN_ID()')).toBe(word(900n))
    expect(await call(predeployAddress(0x18), 'owner()')).toBe(word(roles.owner.address))
    for (const vault of [0x11, 0x19, 0x1a]) {
      expect(await call(predeployAddress(vault), 'RECIPIENT()')).toBe(word(roles.owner.address))
    }
    if (has('isthmus')) expect(await call(OPERATOR_FEE_VAULT, 'RECIPIENT()')).toBe(word(predeployAddress(0x19)))
  })
})

describe('upgrades on the genesis state', () => {
  it('replace the implementation of every predeploy that Karst upgrades', async () => {
    const [jovian, karst] = await Promise.all([genesisOf('jovian'), genesisOf('karst')])
    const slot = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
    const renewed = Array.from({ length: 0x2e }, (_, low) => predeployAddress(low)).filter(
      (address) => jovian.file.alloc[address]?.storage?.[slot] !== karst.file.alloc[address]?.storage?.[slot],
    )
    expect(renewed.map((address) => Number(`0x${address.slice(-4)}`))).toEqual([
      0x07, 0x0f, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x20, 0x21, 0x2c, 0x2d,
    ])
    for (const address of renewed) {
      const implementation = toHex(Buffer.from(karst.file.alloc[address]?.storage?.[slot]?.slice(-40) ?? '', 'hex'))
      expect(karst.file.alloc[implementation]?.code?.length, address).toBeGreaterThan(100)
    }
  })
})
