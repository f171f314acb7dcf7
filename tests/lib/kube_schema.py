# SPDX-License-Identifier: Apache-2.0
"""What an API server takes of the kinds that packaging/kubernetes makes, and of those that it reads.

Sandbox, SandboxClaim, SandboxTemplate and SandboxWarmPool are those of kubernetes-sigs/agent-sandbox
1.0: groups agents.x-k8s.io and extensions.agents.x-k8s.io, version v1beta1, the only one that it
serves (0.5 served it, too; v1alpha1 is gone). Names, types, enums, bounds and what is required are as
in its CRDs of these kinds. Members that single releases since 0.5 have added are left out, and what
any of them required is required, so that what passes here is taken by all of them. Pods, Secrets,
NetworkPolicies and Roles are Kubernetes' own; of those what is used here.

Strict, as with fieldValidation=Strict: a member that is not here is an error."""
import re


class Invalid(Exception):
    pass


class Type:
    """one: a Python type. members: name -> Type, of an object, with those of required. of: Type of
    each item of an array or value of a map. enum, least, pattern: of scalars."""

    def __init__(self, one, members=None, required=(), of=None, enum=None, least=None, pattern=None):
        self.one, self.members, self.required, self.of = one, members, required, of
        self.enum, self.least, self.pattern = enum, least, pattern

    def check(self, value, at):
        if self.one is not None and (not isinstance(value, self.one) or (
                isinstance(value, bool) and self.one is not bool)):
            raise Invalid("%s: %r is no %s" % (at, value, self.one))
        if self.enum and value not in self.enum:
            raise Invalid("%s: %r is none of %s" % (at, value, self.enum))
        if self.least is not None and value < self.least:
            raise Invalid("%s: %r is less than %d" % (at, value, self.least))
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise Invalid("%s: %r does not fit %s" % (at, value, self.pattern))
        if self.of:
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for k, v in pairs:
                self.of.check(v, "%s[%s]" % (at, k))
        if self.members is None:
            return
        for k, v in value.items():
            if k not in self.members:
                raise Invalid("%s: unknown member %s" % (at, k))
            self.members[k].check(v, at + "." + k)
        for k in self.required:
            if k not in value:
                raise Invalid("%s: %s is required" % (at, k))


def obj(required, **members):
    """Of members named as Python words are not: a_ is a."""
    return Type(dict, {k.rstrip("_"): v for k, v in members.items()}, required.split())


def arr(of):
    return Type(list, of=of)


def enum(*values):
    return Type(str, enum=values)


TEXT, FLAG, NUMBER = Type(str), Type(bool), Type(int)
COUNT = Type(int, least=0)
TEXTS = Type(dict, of=TEXT)
TIME = Type(str, pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
NAME = Type(str, pattern=r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
QUANTITY = Type(str, pattern=r"[0-9.]+(m|Ki|Mi|Gi|k|M|G)?")
REF = obj("name", name=TEXT)

# ---- Kubernetes' own ------------------------------------------------------------------------
LABELS = Type(dict, of=Type(str, pattern=r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"))
OWNER = obj("apiVersion kind name uid", apiVersion=TEXT, kind=TEXT, name=TEXT, uid=TEXT,
            controller=FLAG, blockOwnerDeletion=FLAG)
META = obj("name", name=NAME, namespace=NAME, labels=LABELS, annotations=TEXTS, uid=TEXT,
           resourceVersion=TEXT, generation=NUMBER, creationTimestamp=TIME, deletionTimestamp=TIME,
           ownerReferences=arr(OWNER))
SELECTOR = obj("", matchLabels=LABELS)
PEER = obj("", podSelector=SELECTOR, namespaceSelector=SELECTOR, ipBlock=obj(
    "cidr", cidr=TEXT, except_=arr(TEXT)))
PORT = obj("", protocol=enum("TCP", "UDP", "SCTP"), port=Type((int, str)), endPort=NUMBER)
INGRESS = obj("", from_=arr(PEER), ports=arr(PORT))
EGRESS = obj("", to=arr(PEER), ports=arr(PORT))
KEY_TO_PATH = obj("key path", key=TEXT, path=TEXT, mode=NUMBER)
PROJECTED = obj("", defaultMode=NUMBER, sources=arr(obj("", secret=obj(
    "", name=TEXT, items=arr(KEY_TO_PATH), optional=FLAG))))
VOLUME = obj("name", name=NAME, projected=PROJECTED, emptyDir=obj(
    "", medium=enum("", "Memory"), sizeLimit=QUANTITY))
MOUNT = obj("name mountPath", name=TEXT, mountPath=TEXT, readOnly=FLAG, subPath=TEXT)
SECCOMP = obj("type", type=enum("RuntimeDefault", "Unconfined", "Localhost"), localhostProfile=TEXT)
CONTAINER = obj(
    "name", name=NAME, image=TEXT, command=arr(TEXT), args=arr(TEXT), volumeMounts=arr(MOUNT),
    resources=obj("", limits=Type(dict, of=QUANTITY), requests=Type(dict, of=QUANTITY)),
    securityContext=obj("", allowPrivilegeEscalation=FLAG, readOnlyRootFilesystem=FLAG,
                        privileged=FLAG, runAsNonRoot=FLAG, runAsUser=NUMBER,
                        seccompProfile=SECCOMP))
POD_SPEC = obj(
    "containers", containers=arr(CONTAINER), volumes=arr(VOLUME), runtimeClassName=TEXT,
    automountServiceAccountToken=FLAG, enableServiceLinks=FLAG, serviceAccountName=TEXT,
    restartPolicy=enum("Always", "OnFailure", "Never"),
    securityContext=obj("", seccompProfile=SECCOMP, runAsNonRoot=FLAG, runAsUser=NUMBER,
                        fsGroup=NUMBER))
CONDITION = obj(
    "type status reason message lastTransitionTime", type=TEXT, status=enum("True", "False", "Unknown"),
    reason=Type(str, pattern=r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"), message=TEXT,
    lastTransitionTime=TIME, observedGeneration=COUNT)

# ---- agent-sandbox --------------------------------------------------------------------------
POD_META = obj("", labels=TEXTS, annotations=TEXTS)
BLUEPRINT = {
    "podTemplate": obj("spec", metadata=POD_META, spec=POD_SPEC), "service": FLAG,
    "volumeClaimTemplates": arr(obj("spec", metadata=obj(
        "", name=TEXT, labels=TEXTS, annotations=TEXTS), spec=Type(dict)))}
SANDBOX = obj(
    "podTemplate", **BLUEPRINT, shutdownTime=TIME, shutdownPolicy=enum("Delete", "Retain"),
    operatingMode=enum("Running", "Suspended"))
TEMPLATE = obj(
    "podTemplate", **BLUEPRINT, networkPolicy=obj("", ingress=arr(INGRESS), egress=arr(EGRESS)),
    networkPolicyManagement=enum("Managed", "Unmanaged"),
    envVarsInjectionPolicy=enum("Allowed", "Overrides", "Disallowed"))
POOL = obj(
    "replicas sandboxTemplateRef", replicas=COUNT, sandboxTemplateRef=REF,
    updateStrategy=obj("", type=enum("Recreate", "OnReplenish")))
CLAIM = obj(
    "warmPoolRef", warmPoolRef=REF, additionalPodMetadata=POD_META,
    lifecycle=obj("", shutdownTime=TIME, ttlSecondsAfterFinished=COUNT,
                  shutdownPolicy=enum("Delete", "DeleteForeground", "Retain")),
    env=arr(obj("name value", name=TEXT, value=TEXT, containerName=TEXT)))
CLAIM_STATUS = obj("", conditions=arr(CONDITION), sandbox=obj("", name=TEXT, podIPs=arr(TEXT)))
SANDBOX_STATUS = obj("", conditions=arr(CONDITION), serviceFQDN=TEXT, service=TEXT, selector=TEXT,
                     podIPs=arr(TEXT), nodeName=TEXT)
POOL_STATUS = obj("", replicas=NUMBER, readyReplicas=NUMBER, selector=TEXT)

RULE = obj("verbs", apiGroups=arr(TEXT), resources=arr(TEXT), resourceNames=arr(TEXT), verbs=arr(enum(
    "get", "list", "watch", "create", "update", "patch", "delete")))
EXTENSIONS, CORE = "extensions.agents.x-k8s.io/v1beta1", "agents.x-k8s.io/v1beta1"
# Plural: (apiVersion, kind, the members beside apiVersion, kind and metadata, required ones).
KINDS = {
    "sandboxclaims": (EXTENSIONS, "SandboxClaim", {"spec": CLAIM, "status": CLAIM_STATUS}, "spec"),
    "sandboxtemplates": (EXTENSIONS, "SandboxTemplate", {"spec": TEMPLATE}, "spec"),
    "sandboxwarmpools": (EXTENSIONS, "SandboxWarmPool", {"spec": POOL, "status": POOL_STATUS}, "spec"),
    "sandboxes": (CORE, "Sandbox", {"spec": SANDBOX, "status": SANDBOX_STATUS}, "spec"),
    "pods": ("v1", "Pod", {"spec": POD_SPEC, "status": obj("", phase=enum(
        "Pending", "Running", "Succeeded", "Failed", "Unknown"))}, "spec"),
    "secrets": ("v1", "Secret", {"type": TEXT, "stringData": TEXTS, "data": TEXTS}, ""),
    "networkpolicies": ("networking.k8s.io/v1", "NetworkPolicy", {"spec": obj(
        "podSelector", podSelector=SELECTOR, policyTypes=arr(enum("Ingress", "Egress")),
        ingress=arr(INGRESS), egress=arr(EGRESS))}, ""),
    "namespaces": ("v1", "Namespace", {}, ""),
    "serviceaccounts": ("v1", "ServiceAccount", {}, ""),
    "services": ("v1", "Service", {"spec": obj("", selector=LABELS, type=enum("ClusterIP"), ports=arr(
        obj("port", name=TEXT, protocol=enum("TCP"), port=NUMBER, targetPort=Type((int, str)))))},
                 "spec"),
    "rolebindings": ("rbac.authorization.k8s.io/v1", "RoleBinding", {
        "roleRef": obj("apiGroup kind name", apiGroup=TEXT, kind=enum("Role", "ClusterRole"), name=TEXT),
        "subjects": arr(obj("kind name", kind=enum("ServiceAccount", "User", "Group"), apiGroup=TEXT,
                            name=TEXT, namespace=TEXT))}, "roleRef"),
    "roles": ("rbac.authorization.k8s.io/v1", "Role", {"rules": arr(RULE)}, "rules"),
}


def validate(plural, value):
    """Raises Invalid, which says where."""
    version, kind, members, required = KINDS[plural]
    Type(dict, {"apiVersion": enum(version), "kind": enum(kind), "metadata": META, **members},
         ["apiVersion", "kind", "metadata", *required.split()]).check(value, plural)


def plural_of(value):
    """By its kind; the version is validate's to judge."""
    for plural, (_, kind, _, _) in KINDS.items():
        if value.get("kind") == kind:
            return plural
    raise Invalid("no such kind: %r" % value.get("kind"))
