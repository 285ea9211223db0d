import { readFileSync } from 'node:fs'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

// The parts of compose files and manifests that docs/deploy uses. The formats' own schemas, which a test holds it to as well, say
// what else there is; here a name that is not listed is a typing error, which Kubernetes' schemas let pass.

const texts = z.array(z.string())
const labels = z.record(z.string(), z.string())
const protocol = z.literal('UDP').optional()

const PROGRAM_KEYS = [
  'image',
  'build',
  'restart',
  'stop_grace_period',
  'read_only',
  'tmpfs',
  'cap_drop',
  'security_opt',
  'healthcheck',
] as const

/** Of a field that the format's own schema looks after. */
const any = z.unknown()

const composeSchema = z.strictObject({
  name: z.string(),
  'x-program': any,
  services: z.record(
    z.string(),
    z.strictObject({
      ...Object.fromEntries(PROGRAM_KEYS.map((key) => [key, any.optional()])),
      command: texts,
      environment: z.record(z.string(), z.string().nullable()).default({}),
      depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
      ports: texts.default([]),
      volumes: texts.default([]),
      profiles: texts.default([]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
})
export type ComposeService = z.infer<typeof composeSchema>['services'][string]

export function readCompose(path: string): z.infer<typeof composeSchema> {
  return composeSchema.parse(parse(readFileSync(path, 'utf8'), { merge: true }))
}

const httpGet = z.strictObject({ path: z.string(), port: z.string() })
const probe = z.strictObject({
  httpGet: httpGet.optional(),
  tcpSocket: z.strictObject({ port: z.string() }).optional(),
  exec: z.strictObject({ command: texts }).optional(),
  initialDelaySeconds: z.int().optional(),
  periodSeconds: z.int().optional(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
})
const keyRef = z.strictObject({ name: z.string(), key: z.string(), optional: z.boolean().optional() })

const containerSchema = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: texts,
  args: texts.default([]),
  env: z
    .array(
      z.strictObject({
        name: z.string(),
        valueFrom: z.strictObject({
          secretKeyRef: keyRef.optional(),
          configMapKeyRef: keyRef.optional(),
          fieldRef: z.strictObject({ fieldPath: z.string() }).optional(),
        }),
      }),
    )
    .default([]),
  ports: z.array(z.strictObject({ name: z.string().max(15), containerPort: z.int(), protocol })).default([]),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  resources: any.optional(),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: any,
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
})
export type Container = z.infer<typeof containerSchema>

const items = z.array(z.strictObject({ key: z.string(), path: z.string() }))
const podSpecSchema = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  affinity: any.optional(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().positive(),
    fsGroup: z.int().positive(),
    seccompProfile: any,
  }),
  initContainers: z.array(containerSchema).default([]),
  containers: z.array(containerSchema),
  volumes: z.array(
    z.strictObject({
      name: z.string(),
      configMap: z.strictObject({ name: z.string(), items: items.optional() }).optional(),
      secret: z.strictObject({ secretName: z.string(), items, defaultMode: z.int() }).optional(),
      emptyDir: any.optional(),
    }),
  ),
})

const workload = {
  selector: z.strictObject({ matchLabels: labels }),
  template: z.strictObject({ metadata: z.strictObject({ labels }), spec: podSpecSchema }),
  replicas: z.int(),
}
const apiVersion = z.string()
const metadata = z.strictObject({ name: z.string(), labels: labels.optional() })
const portName = z.strictObject({ port: z.string(), protocol })
const podSelector = z.strictObject({ podSelector: z.strictObject({ matchLabels: labels }) })

const manifestSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('StatefulSet'),
    apiVersion,
    metadata,
    spec: z.strictObject({
      ...workload,
      serviceName: z.string(),
      podManagementPolicy: z.literal('Parallel'),
      volumeClaimTemplates: z.array(z.strictObject({ metadata, spec: any })),
    }),
  }),
  z.strictObject({
    kind: z.literal('Deployment'),
    apiVersion,
    metadata,
    spec: z.strictObject({ ...workload, strategy: z.strictObject({ type: z.string() }) }),
  }),
  z.strictObject({
    kind: z.literal('Service'),
    apiVersion,
    metadata,
    spec: z.strictObject({
      clusterIP: z.literal('None').optional(),
      selector: labels,
      publishNotReadyAddresses: z.literal(true).optional(),
      ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string(), protocol })),
    }),
  }),
  z.strictObject({
    kind: z.literal('PodDisruptionBudget'),
    apiVersion,
    metadata,
    spec: z.strictObject({ maxUnavailable: z.int(), selector: z.strictObject({ matchLabels: labels }) }),
  }),
  z.strictObject({
    kind: z.literal('NetworkPolicy'),
    apiVersion,
    metadata,
    spec: z.strictObject({
      podSelector: z.strictObject({ matchLabels: labels }),
      policyTypes: texts,
      ingress: z.array(z.strictObject({ from: z.array(podSelector).optional(), ports: z.array(portName) })),
    }),
  }),
])
export type Manifest = z.infer<typeof manifestSchema>
export type Workload = Extract<Manifest, { kind: 'StatefulSet' | 'Deployment' }>

/** The documents of a manifest file as they stand. Throws where it is no YAML. */
export function documentsOf(path: string): unknown[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    return document.toJS()
  })
}

export function readManifests(path: string): Manifest[] {
  return documentsOf(path).map((document) => manifestSchema.parse(document))
}
