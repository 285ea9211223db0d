import type { Container, Pod } from './pods.ts'
import { toYaml, type Yaml } from './yaml.ts'

/** The kustomization for `kubectl apply -k`. It turns the chain's files into ConfigMaps. */
export function kustomization(chainFiles: readonly string[], l1StateParts: readonly string[]): string {
  const configMap = (name: string, files: readonly string[]) => ({ name, files: [...files] })
  return `${toYaml({
    resources: ['pods.yaml'],
    generatorOptions: { disableNameSuffixHash: true },
    configMapGenerator: [
      configMap('chain', chainFiles),
      configMap('genesis', ['genesis.json.gz']),
      ...l1StateParts.map((part) => configMap(part, [part])),
    ],
  })}\n`
}

/** A StatefulSet and a Service for each pod. Pods reach each other by the Service name. */
export function manifests(pods: readonly Pod[], l1StateParts: readonly string[]): string {
  return pods
    .flatMap((pod) => [service(pod), statefulSet(pod, l1StateParts)])
    .map((each) => `${toYaml(each)}\n`)
    .join('---\n')
}

function service({ name }: Pod): Yaml {
  const spec = { clusterIP: 'None', publishNotReadyAddresses: true, selector: { pod: name } }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec }
}

function statefulSet(pod: Pod, l1StateParts: readonly string[]): Yaml {
  const { name, init, containers } = pod
  const unpack: Container = {
    ...{ name: 'unpack-genesis', image: 'devium', env: {} },
    command: ['/bin/sh', '-c', 'cp /files/* /chain/ && gunzip -c /genesis/genesis.json.gz > /chain/genesis.json'],
  }
  const isNode = init.length > 0
  const volumes: Volume[] = [
    { name: 'chain', emptyDir: {} },
    ...(isNode ? [configMap('files', 'chain'), configMap('genesis', 'genesis')] : []),
    ...(name === 'l1'
      ? [{ name: 'l1-state', projected: { sources: l1StateParts.map((part) => ({ configMap: { name: part } })) } }]
      : []),
  ]
  const mounts = ['data', ...volumes.map((volume) => volume.name)].map((volume) => ({
    name: volume,
    mountPath: `/${volume}`,
  }))
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      serviceName: name,
      replicas: 1,
      selector: { matchLabels: { pod: name } },
      template: {
        metadata: { labels: { pod: name } },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 60,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
          ...(isNode ? { initContainers: [unpack, ...init].map((each) => containerOf(each, mounts)) } : {}),
          containers: containers.map((each) => containerOf(each, mounts)),
          volumes,
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  }
}

type Volume = { name: string } & { readonly [source: string]: Yaml }

function configMap(volume: string, name: string): Volume {
  return { name: volume, configMap: { name } }
}

function containerOf({ name, image, command, env, health }: Container, volumeMounts: Yaml): Yaml {
  return {
    ...{ name, image },
    // Kubernetes replaces `$(NAME)` by a variable.
    command: command.map((word) => word.replaceAll('$(', '$$(')),
    ...(Object.keys(env).length === 0
      ? {}
      : { env: Object.entries(env).map(([key, value]) => ({ name: key, value })) }),
    ...(health === undefined ? {} : { readinessProbe: { httpGet: { ...health } } }),
    volumeMounts,
  }
}
