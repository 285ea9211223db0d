import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { domainSeparator } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { fromHex, toHex } from '../../src/lib/hex.ts'
import { ZERO_ADDRESS } from '../../src/rollup/protocol/index.ts'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import { devAccounts, roles } from '../accounts.ts'
import { type AbiValue, encodeDeployment, functionSelector } from '../contracts/abi.ts'
import { ArtifactStore, findContractsPackage } from '../contracts/artifact.ts'
import { forksAtGenesis } from '../forks.ts'
import { l1Addresses } from '../l1/contracts.ts'
import { buildL2Genesis, type L2Genesis } from './l2Genesis.ts'
import { implementationAddress, PREDEPLOYS, predeployAddress } from './predeploys.ts'

const parameters = {
  l1ChainId: 900,
  l2ChainId: 901,
  blockTime: 1,
  l1BlockTime: 2,
  genesisTime: 1_700_000_000,
  forks: forksAtGenesis('holocene'),
}
const l1 = l1Addresses(roles.owner.address)
const word = (value: string | bigint) => `0x${BigInt(value).toString(16).padStart(64, '0')}`

describe('L2 genesis', () => {
  const store = new ArtifactStore(findContractsPackage())
  const directory = mkdtempSync(join(tmpdir(), 'devium-genesis-'))
  let genesis: L2Genesis
  let anvil: Anvil
  let l2: RpcClient
  const call = async (to: string, signature: string, args = '') =>
    l2.request('eth_call', [{ to, data: toHex(functionSelector(signature)) + args }, 'latest'])
  const predeploy = (name: keyof typeof PREDEPLOYS, signature: string) =>
    call(predeployAddress(PREDEPLOYS[name]), signature)

  beforeAll(async () => {
    genesis = await buildL2Genesis(store, parameters, l1)
    // Any EVM that starts from the genesis file can call the contracts.
    const path = join(directory, 'genesis.json')
    writeFileSync(path, JSON.stringify(genesis.file))
    anvil = await startAnvil({ hardfork: 'cancun', args: ['--init', path, '--chain-id', '901'] })
    l2 = createPatientClient({ url: anvil.url })
  })
  afterAll(async () => {
    await l2?.close()
    await anvil?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('has a proxy at each of the 2048 addresses but two', () => {
    const addresses = Array.from({ length: 2048 }, (_, low) => predeployAddress(low))
    const proxies = addresses.filter((address) => genesis.file.alloc[address]?.nonce === '0x1')
    expect(proxies).toHaveLength(2046)
    expect(addresses.filter((address) => !proxies.includes(address))).toEqual([
      '0x4200000000000000000000000000000000000006',
      '0x4200000000000000000000000000000000000042',
    ])
  })

  it('has initialised bridges and messengers behind the proxies', async () => {
    expect(await predeploy('L2CrossDomainMessenger', 'otherMessenger()')).toBe(word(l1.L1CrossDomainMessenger))
    expect(await predeploy('L2StandardBridge', 'otherBridge()')).toBe(word(l1.L1StandardBridge))
    expect(await predeploy('L2StandardBridge', 'messenger()')).toBe(word(predeployAddress(0x07)))
    expect(await predeploy('L2ERC721Bridge', 'otherBridge()')).toBe(word(l1.L1ERC721Bridge))
    expect(await predeploy('L2ERC721Bridge', 'messenger()')).toBe(word(predeployAddress(0x07)))
    expect(await predeploy('OptimismMintableERC20Factory', 'BRIDGE()')).toBe(word(predeployAddress(0x10)))
    expect(await predeploy('OptimismMintableERC721Factory', 'REMOTE_CHAIN_ID()')).toBe(word(900n))
    expect(await predeploy('ProxyAdmin', 'owner()')).toBe(word(roles.owner.address))
    const argument = toHex(new Uint8Array(32)).slice(2)
    const initialize = call(predeployAddress(0x10), 'initialize(address)', argument)
    await expect(initialize).rejects.toThrow('already initialized')
    const implementation = call(implementationAddress(0x10), 'initialize(address)', argument)
    await expect(implementation).rejects.toThrow('already initialized')
  })

  it('has a gas price oracle and fee vaults that know the forks and the recipient', async () => {
    expect(await predeploy('GasPriceOracle', 'isEcotone()')).toBe(word(1n))
    expect(await predeploy('GasPriceOracle', 'isFjord()')).toBe(word(1n))
    for (const vault of ['SequencerFeeVault', 'BaseFeeVault', 'L1FeeVault'] as const) {
      expect(await predeploy(vault, 'RECIPIENT()')).toBe(word(roles.owner.address))
      expect(await predeploy(vault, 'WITHDRAWAL_NETWORK()')).toBe(word(1n))
    }
  })

  it('fills immutables like the constructors', async () => {
    const owner = roles.owner.address
    const vault: AbiValue[] = [owner, 10n * 10n ** 18n, 1]
    const constructed: [keyof typeof PREDEPLOYS, AbiValue[]][] = [
      ['SequencerFeeVault', vault],
      ['BaseFeeVault', vault],
      ['L1FeeVault', vault],
      ['OptimismMintableERC721Factory', [predeployAddress(0x14), 900]],
    ]
    for (const [name, values] of constructed) {
      const data = toHex(encodeDeployment(await store.read(name), values))
      // A call without `to` returns the code that the constructor returns.
      const runtime = await l2.request('eth_call', [{ data }, 'latest'])
      expect(genesis.file.alloc[implementationAddress(PREDEPLOYS[name])]?.code, name).toBe(runtime)
    }
  })

  it('gives EAS and Permit2 the EIP-712 domain of this chain', async () => {
    const domain = { chainId: 901, verifyingContract: predeployAddress(PREDEPLOYS.EAS) }
    const eas = domainSeparator({ domain: { name: 'EAS', version: '1.3.0', ...domain } })
    expect(await predeploy('EAS', 'getDomainSeparator()')).toBe(eas)
    const permit2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'
    expect(await call(permit2, 'DOMAIN_SEPARATOR()')).toBe(
      domainSeparator({ domain: { name: 'Permit2', chainId: 901, verifyingContract: permit2 } }),
    )
  })

  it('funds the ten development accounts and has WETH and the preinstalls', async () => {
    expect(devAccounts).toHaveLength(10)
    // Wallets estimate deposits from the zero address.
    for (const address of [...devAccounts.map(({ address }) => address), ZERO_ADDRESS]) {
      expect(await l2.request('eth_getBalance', [address, '0x0'])).toBe('0x21e19e0c9bab2400000')
    }
    expect(await call(predeployAddress(0x06), 'decimals()')).toBe(word(18n))
    const preinstalls = ['0xca11bde05977b3631167028862be2a173976ca11', '0x4e59b44847b379578588920ca78fbf26c0b4956c']
    for (const address of preinstalls) expect(genesis.file.alloc[toHex(fromHex(address))]?.code).toMatch(/^0x60|^0x7f/)
  })

  it('is the same for the same parameters, and differs for another time', async () => {
    const again = await buildL2Genesis(store, parameters, l1)
    expect(again.hash).toBe(genesis.hash)
    const later = await buildL2Genesis(store, { ...parameters, genesisTime: 1_700_000_001 }, l1)
    expect(later.hash).not.toBe(genesis.hash)
  })
})
