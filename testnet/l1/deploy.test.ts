import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { toHex } from '../../src/lib/hex.ts'
import { type BlockId, JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import { roles } from '../accounts.ts'
import { functionSelector } from '../contracts/abi.ts'
import { ArtifactStore, findContractsPackage } from '../contracts/artifact.ts'
import { contractAddress, l1Addresses, planDeployment } from './contracts.ts'
import { deployContracts, MULTICALL3_ADDRESS, signDeployment } from './deploy.ts'

// The limit for a busy machine.
const DEPLOYMENT_SECONDS = 30
const genesisTime = Math.floor(Date.now() / 1000) - DEPLOYMENT_SECONDS
const parameters = { l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 1, genesisTime, forks: {} }
const addresses = l1Addresses(roles.owner.address)
const word = (value: string | bigint) => `0x${BigInt(value).toString(16).padStart(64, '0')}`

describe('L1 deployment', () => {
  let anvil: Anvil
  let l1: RpcClient
  let genesis: BlockId
  const call = (to: string, signature: string) =>
    l1.request('eth_call', [{ to, data: toHex(functionSelector(signature)) }, 'latest'])
  const slot = (address: string, index: string) => l1.request('eth_getStorageAt', [address, index, 'latest'])

  beforeAll(async () => {
    anvil = await startAnvil({
      hardfork: 'cancun',
      args: ['--no-mining', '--gas-limit', '100000000', '--chain-id', '900', '--timestamp', String(genesisTime - 1)],
    })
    l1 = createPatientClient({ url: anvil.url })
    const steps = signDeployment(await planDeployment(new ArtifactStore(findContractsPackage()), parameters), 900)
    genesis = await deployContracts(l1, steps, parameters, Uint8Array.of(0x5b))
  })
  afterAll(async () => {
    await l1?.close()
    await anvil?.stop()
  })

  it('is completely in block 1, whose time is the genesis time', async () => {
    const block = await l1.request('eth_getBlockByNumber', ['0x1', false])
    expect(block).toMatchObject({ hash: genesis.hash, timestamp: `0x${genesisTime.toString(16)}` })
    expect(genesis.number).toBe(1)
  })

  it('initialises SystemConfig through its proxy', async () => {
    const { SystemConfig } = addresses
    expect(await call(SystemConfig, 'batcherHash()')).toBe(word(roles.batcher.address))
    expect(await call(SystemConfig, 'gasLimit()')).toBe(word(60_000_000n))
    expect(await call(SystemConfig, 'unsafeBlockSigner()')).toBe(word(roles.sequencer.address))
    expect(await call(SystemConfig, 'owner()')).toBe(word(roles.owner.address))
    expect(await call(SystemConfig, 'basefeeScalar()')).toBe(word(1368n))
    expect(await call(SystemConfig, 'blobbasefeeScalar()')).toBe(word(810_949n))
    expect(await call(SystemConfig, 'batchInbox()')).toBe(word('0xff00000000000000000000000000000000000901'))
    expect(await call(SystemConfig, 'optimismPortal()')).toBe(word(addresses.OptimismPortal))
    expect(await call(SystemConfig, 'startBlock()')).toBe(word(1n))
    // The slot from which rollup nodes read the signer: keccak256("systemconfig.unsafeblocksigner").
    expect(await slot(SystemConfig, '0x65a7ed542fb37fe237fdfbdd70b31598523fe5b32879e307bae27a0bd9581c08')).toBe(
      word(roles.sequencer.address),
    )
  })

  it('initialises the portal, the bridges and the rest', async () => {
    const { OptimismPortal, L1CrossDomainMessenger, L1StandardBridge, L2OutputOracle } = addresses
    expect(await call(OptimismPortal, 'systemConfig()')).toBe(word(addresses.SystemConfig))
    expect(await call(OptimismPortal, 'l2Oracle()')).toBe(word(L2OutputOracle))
    expect(await call(OptimismPortal, 'paused()')).toBe(word(0n))
    expect(await call(L1CrossDomainMessenger, 'PORTAL()')).toBe(word(OptimismPortal))
    expect(await call(L1StandardBridge, 'MESSENGER()')).toBe(word(L1CrossDomainMessenger))
    expect(await call(addresses.L1ERC721Bridge, 'MESSENGER()')).toBe(word(L1CrossDomainMessenger))
    expect(await call(addresses.OptimismMintableERC20Factory, 'BRIDGE()')).toBe(word(L1StandardBridge))
    expect(await call(addresses.SuperchainConfig, 'guardian()')).toBe(word(roles.owner.address))
    expect(await call(addresses.ProtocolVersions, 'required()')).toBe(word(0n))
    expect(await call(L2OutputOracle, 'startingTimestamp()')).toBe(word(BigInt(genesisTime)))
    expect(await call(L2OutputOracle, 'PROPOSER()')).toBe(word(roles.proposer.address))
  })

  it('leaves proxies that the ProxyAdmin owns', async () => {
    expect(await call(addresses.ProxyAdmin, 'owner()')).toBe(word(roles.owner.address))
    expect(
      await slot(addresses.OptimismPortal, '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103'),
    ).toBe(word(addresses.ProxyAdmin))
  })

  it('puts Multicall3 at its usual address, and continues mining', async () => {
    expect(await l1.request('eth_getCode', [MULTICALL3_ADDRESS, 'latest'])).toBe('0x5b')
    await expect.poll(() => l1.request('eth_blockNumber', [])).not.toBe('0x1')
    expect(await l1.request('eth_getBlockByNumber', ['latest', false])).toMatchObject({ gasLimit: '0x1c9c380' })
  })

  it('continues with the real time after a slow deployment', async () => {
    await expect.poll(() => l1.request('eth_blockNumber', [])).not.toBe('0x1')
    const second = new JsonObjectReader(await l1.request('eth_getBlockByNumber', ['0x2', false]), 'L1 block')
    expect(second.quantityNumber('timestamp')).toBeGreaterThanOrEqual(genesisTime + DEPLOYMENT_SECONDS)
  })

  it('names the failed step', async () => {
    const second = await startAnvil({ hardfork: 'cancun', args: ['--no-mining', '--chain-id', '900'] })
    const client = createPatientClient({ url: second.url })
    try {
      const broken = { what: 'a contract that reverts', to: null, data: Uint8Array.of(0xfe), gasLimit: 100_000 }
      const steps = signDeployment([broken], 900)
      await expect(
        deployContracts(client, steps, { genesisTime: genesisTime + 100, l1BlockTime: 1 }, new Uint8Array()),
      ).rejects.toThrow('L1 deployment: a contract that reverts reverted')
    } finally {
      await client.close()
      await second.stop()
    }
  })
})

describe('contractAddress', () => {
  it('follows from sender and nonce', () => {
    // The first two contracts of Anvil's first account, known from many local deployments.
    expect(contractAddress('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 0)).toBe(
      '0x5fbdb2315678afecb367f032d93f642f64180aa3',
    )
    expect(contractAddress('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 1)).toBe(
      '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512',
    )
  })
})
