import { bigIntToBytes, concatBytes } from '../../src/lib/bytes.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import type { ArtifactStore } from '../contracts/artifact.ts'

export interface Preinstall {
  name: string
  address: Hex
  code: Uint8Array
}

/** Names in src/libraries/Preinstalls.sol. No other file of the package has their code. */
const NAMES = [
  'MultiCall3',
  'Create2Deployer',
  'Safe_v130',
  'SafeL2_v130',
  'MultiSendCallOnly_v130',
  'SafeSingletonFactory',
  'DeterministicDeploymentProxy',
  'MultiSend_v130',
  'Permit2',
  'SenderCreator',
  'EntryPoint',
  'BeaconBlockRoots',
] as const

/** Deployer of the beacon roots contract. Its nonce must be used (EIP-4788). */
export const BEACON_ROOTS_SENDER: Hex = '0x0b799c86a49deeb90402691f1041aa3af2d3c875'

/** Offsets in Permit2's template of the chain id and the EIP-712 domain separator (Preinstalls.getPermit2Code). */
const PERMIT2_CHAIN_ID_OFFSET = 6945
const PERMIT2_DOMAIN_OFFSET = 6983

/** Third-party contracts that every OP Stack chain has at their usual addresses. */
export async function readPreinstalls(store: ArtifactStore, chainId: number): Promise<Preinstall[]> {
  const source = await store.readSource('libraries/Preinstalls.sol')
  return NAMES.map((name) => {
    const address = constant(source, new RegExp(`address internal constant ${name} = 0x([0-9a-fA-F]{40});`), name)
    const codeName = name === 'Permit2' ? 'Permit2TemplateCode' : `${name}Code`
    const code = constant(source, new RegExp(`bytes internal constant ${codeName} =\\s*hex"([0-9a-fA-F]+)"`), name)
    return {
      name,
      address: toHex(address),
      code: name === 'Permit2' ? fillPermit2(code, address, chainId) : code,
    }
  })
}

function constant(source: string, pattern: RegExp, name: string): Uint8Array {
  const digits = pattern.exec(source)?.[1]
  if (digits === undefined) throw new DeviumError('artifact', `Preinstalls.sol has no ${name}`)
  return fromHex(digits)
}

function fillPermit2(template: Uint8Array, address: Uint8Array, chainId: number): Uint8Array {
  const chainIdWord = bigIntToBytes(BigInt(chainId), 32)
  const domainSeparator = keccak256(
    concatBytes(
      keccak256(Buffer.from('EIP712Domain(string name,uint256 chainId,address verifyingContract)')),
      keccak256(Buffer.from('Permit2')),
      chainIdWord,
      new Uint8Array(12),
      address,
    ),
  )
  const code = template.slice()
  code.set(chainIdWord, PERMIT2_CHAIN_ID_OFFSET)
  code.set(domainSeparator, PERMIT2_DOMAIN_OFFSET)
  return code
}
